"""Calendars: one document a month."""
