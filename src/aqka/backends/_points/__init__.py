"""Points measured in Pauli settings: their circuit, and outcomes drawn and counted."""
