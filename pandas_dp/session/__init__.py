"""Sessions: one budget each, how it is opened, joined and set aside in portions, and what answers for a frame."""
