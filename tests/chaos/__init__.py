"""A soak: kills, damage, swaps, full disks, lying backends and crowds, and an account of it all.

``python -m tests.chaos --seconds 60 --seed 0`` plays random scenarios until the time is up and
prints what was paid, and what was lost, counted twice, bought twice or believed though it was
damaged: all but the first must be 0.
"""
