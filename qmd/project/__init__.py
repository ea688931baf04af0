"""Search that belongs to a project: its own configuration, its own index, and names that no substrate shows through."""
