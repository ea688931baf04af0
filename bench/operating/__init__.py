"""Work in the background: the doctor, the watch, redaction and the archive."""
