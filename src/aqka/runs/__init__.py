"""A run and its ledger: the loop, the log, its check, its export."""
