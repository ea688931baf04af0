"""A team's memory on PostgreSQL: its schema, connections, and documents into it."""
