"""Question sets: their forms, their documents, and the user's own memory as a corpus."""
