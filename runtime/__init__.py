"""Work behind the surfaces: validation, routing, freshness and age, envelopes, inbox rules."""
