"""Formulas: no files, and no randomness but what is passed in."""
