"""The one process of a home that stays: what it is made of, and how the others ask it."""
