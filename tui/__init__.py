"""The memory on a terminal of its own: search as you type, a day on one line of time, sessions to read."""
