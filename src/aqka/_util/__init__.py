"""What every room may use: arrays, text, files, optional imports, lookup by name."""
