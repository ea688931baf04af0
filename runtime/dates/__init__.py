"""Dates in questions and documents."""
