"""The views: each reads the state in its address, asks what the command of its subject asks, and names a template."""
