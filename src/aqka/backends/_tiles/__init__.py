"""Many copies of a small circuit side by side on one chip."""
