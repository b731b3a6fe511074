"""Questions without a frame: written once, read from text, kept in a plan."""
