"""From plans to jobs of a sampler, and back."""
