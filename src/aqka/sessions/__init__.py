"""Ask and tell: training and prediction under a budget."""
