"""What the surfaces do: validation, routing, freshness and age, envelopes, inbox rules."""
