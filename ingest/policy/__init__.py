"""Exclusions, and forgetting in raw data."""

# Below ``state/``: folders that held a marker, and the units that were excluded (``ingest.policy.withheld``).
FILE, UNITS = "excluded.json", "excluded-units.json"
# Files of ``core.tombstones``, one of which is there once anything was forgotten.
FORGETTING = ("tombstones.json", "tombstones.once")
