"""Questions about the user's own memory, drawn by rule."""
