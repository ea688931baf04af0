"""Sources on disk become documents: one module a source, the corpus writer, and the ledger of what was seen."""
