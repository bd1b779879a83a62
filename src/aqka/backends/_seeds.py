"""Seeds from a seed and a tag, so that a tag's randomness depends on nothing that ran before."""

import hashlib

SEED_LIMIT = 2**31 - 1  # what every simulator takes as a seed


def tag_seed(seed: int, tag: str) -> int:
    """Return a simulator seed for a tag: at least 1, for some simulators ignore a seed of 0."""
    digest = hashlib.sha256(f"{seed}:{tag}".encode()).digest()
    return 1 + int.from_bytes(digest[:8]) % (SEED_LIMIT - 1)
