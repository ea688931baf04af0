"""Actions: what sessions ran, read, changed, decided and refused, read from their documents and asked for."""
