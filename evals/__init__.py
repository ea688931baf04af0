"""Retrieval evaluation: datasets, metrics, and the questions asked through the product itself."""
