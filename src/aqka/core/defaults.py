"""What is used where nothing is named: the same in every entrance to the package."""

DEFAULT_ALLOCATOR = "uniform"
DEFAULT_READOUT = "ridge-noise"
FIRST_DEFAULT = "auto"
"""The allocator and the readout of version 0.1.0 where none was named: its runs go on with them."""
DEFAULT_C = 5.0
"""Box of the SVM dual."""
