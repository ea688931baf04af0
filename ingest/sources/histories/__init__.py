"""Histories of prompts, for sessions without a transcript."""
