"""Junie: JetBrains' agent, in its editors and in the terminal."""
