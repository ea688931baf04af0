"""Amp: threads as JSON documents."""
