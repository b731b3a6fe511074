"""The accessor ``df.dp``, and frames that stay protected."""
