"""From a table of counts to a kernel estimate, one file for each kind of measurement."""
