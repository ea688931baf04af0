"""What agents were given from memory: the ledger, the budget of a session, and whether it was of use."""
