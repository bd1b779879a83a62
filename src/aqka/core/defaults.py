"""What is used where nothing is named: the same in every entrance to the package."""

DEFAULT_ALLOCATOR = "uniform"
DEFAULT_LEARNER = "ridge-noise"
DEFAULT_C = 5.0
"""Box of the SVM dual."""
