"""The nouns: plans, tables of counts, priors, how counts are read, the problem."""
