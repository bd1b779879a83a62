"""Tasks, the paper's experiments, comparisons and benchmarks: what aqka was measured with."""
