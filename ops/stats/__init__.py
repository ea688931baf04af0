"""Figures of use: what was asked, how fast it was answered, and the acceptance criteria."""
