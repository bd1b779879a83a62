"""Several allocators side by side."""
