"""PennyLane's circuits."""
