"""Helpers for testing code that builds on aqka."""
