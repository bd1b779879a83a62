"""Our simulator: many points of one circuit at once."""
