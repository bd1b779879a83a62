"""A page about the runs of a folder, on this machine alone; it reads and never writes."""
