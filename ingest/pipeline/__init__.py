"""A run over a source: discovery, change detection, state, documents and the ledger."""
