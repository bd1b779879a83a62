"""Speed, agreement, and the figures behind single features."""
