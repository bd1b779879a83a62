"""Our methods against the paper's."""
