"""The guard on real sessions: the later half replayed against a memory of the earlier ones."""
