"""Engines: thin adapters that show one table's columns to the statistics as raw numbers and codes."""
