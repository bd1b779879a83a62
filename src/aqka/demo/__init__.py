"""What ``aqka demo`` runs: Iris end to end."""
