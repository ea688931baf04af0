"""Handover from one agent to another, or to itself after a compaction: the state of a session, and cited bundles."""
