"""Hooks and handovers: what an agent waits for, and what it is given."""
