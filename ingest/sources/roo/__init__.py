"""Roo Code: tasks as Cline keeps them."""
