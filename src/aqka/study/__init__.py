"""A study file, its run directory, and carrying it out."""
