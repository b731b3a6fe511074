"""How releases are shown: words and digits, HTML, plots. Nothing here sees data."""
