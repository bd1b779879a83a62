"""What the method is measured on: tasks, the paper's experiments, comparison, demo."""
