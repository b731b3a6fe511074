"""What ``df.dp(epsilon=...)`` returns: a frame with a price, its columns and its groups, and every question they answer."""
