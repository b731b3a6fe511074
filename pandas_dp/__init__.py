"""Differential privacy as a pandas accessor."""
