"""Crush: a database in each project."""
