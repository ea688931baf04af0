"""Distillation: a session's document, compressed to what matters later, each statement with the turn it rests on."""
