"""The archive of raw files: objects, catalogue and verification."""
