"""Releases: public values that know their price and their error, as numbers, text, pages and plots. Nothing here sees data."""
