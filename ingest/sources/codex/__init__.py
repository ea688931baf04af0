"""Codex CLI: rollouts as JSON Lines."""
