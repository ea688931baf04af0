"""Grok CLI: journals of messages, and a file that describes each."""
