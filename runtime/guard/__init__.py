"""The memory at the point of action: one line before a command or an edit, if it is sure to help."""
