"""The resident process of a home: its roles, its model, and how other processes ask it."""
