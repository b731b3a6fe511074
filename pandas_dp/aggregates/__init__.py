"""Aggregates: named questions as recipes. Untrusted: a recipe sees public facts and noisy integers only."""
