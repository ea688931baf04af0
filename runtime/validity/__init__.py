"""Is it still true? What is shown carries its validity: current, superseded, contradicted, code changed or unknown."""

CURRENT, CHANGED, UNKNOWN = "current", "code changed", "unknown"
SUPERSEDED, CONTRADICTED = "superseded", "contradicted"
