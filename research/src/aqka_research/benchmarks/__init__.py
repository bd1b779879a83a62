"""Speed and agreement; ``python -m aqka_research.benchmarks`` writes the page."""
