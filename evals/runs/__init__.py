"""Runs of arms over sets: corpora, answers, figures, comparison."""
