"""Planted privacy faults: each one must make the tests of its room fail."""
