"""Exclusions, and forgetting in raw data."""
