"""Chrome and its family: browsing history, one document a day."""
