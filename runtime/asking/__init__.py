"""From a question to an answer: validation, routing, ranking and envelopes."""
