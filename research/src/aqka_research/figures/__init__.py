"""Every published figure from one command: ``make figures``."""
