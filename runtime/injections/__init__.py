"""Texts that agents were given from memory: the ledger, the budget of a session, and whether it was of use."""

# The ledger, below the folder of state. There is none until an agent was given something.
FILE = "injected.jsonl"
