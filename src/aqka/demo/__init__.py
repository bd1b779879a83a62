"""What ``aqka demo`` runs: Iris end to end, and the paper's allocators side by side."""
