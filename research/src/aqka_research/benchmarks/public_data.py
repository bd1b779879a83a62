"""Public measurements of others, and what can be said from them.

The environment variable ``AQKA_PUBLIC_DATA`` names their folder. It holds:

- ``ibm-60-qubits``: ``projections_{train,test}.csv`` and ``{train,test}_data.csv`` of Qiskit's
  tutorial on projected kernels (Qiskit/documentation, datasets/tutorials/pqk);
- ``eon-100-qubits``: ``bits.npz``, whose array B packs the bits of 30 × 30 × 500 shots of 100
  qubits, and ``inputs.csv`` (IBM-EON/mitigating-covariant-quantum-kernels, arXiv:2412.07915).

Nothing of them is part of this project.
"""

import os
from pathlib import Path

from aqka.errors import InputError
from aqka_research.figures.page import PageRun

VARIABLE = "AQKA_PUBLIC_DATA"


def folder() -> Path:
    """Return the folder of public data that the environment names."""
    named = os.environ.get(VARIABLE, "")
    if not named:
        raise InputError(
            f"public data are not part of aqka: name their folder in {VARIABLE}. What it holds and "
            "where that comes from: pydoc aqka_research.benchmarks.public_data"
        )
    place = Path(named)
    for part in ("ibm-60-qubits", "eon-100-qubits"):
        if not (place / part).is_dir():
            raise InputError(f"{place} has no folder {part}; see {__name__}.")
    return place


def page(run: PageRun) -> list[str]:
    """Measure both sets, and write the page."""
    from aqka_research.benchmarks import public_pairs, public_projections

    place = folder()
    run.seeds.update((public_pairs.SEED, public_projections.SEED))
    found = (
        public_projections.sections(place, run.pick(public_projections.REPEATS, 1, 1)),
        public_pairs.sections(place),
    )
    leads = [lead for _, _, lead in found]
    return [
        "# Public data",
        "Two sets of measurements published by others, which are not part of this project. aqka "
        "ran nothing on a device: shots are redrawn from published values or taken from published "
        "bits.",
        *(block for blocks, _, _ in found for block in blocks),
        "## What may be claimed",
        "\n".join(f"- {claim}" for _, claim, _ in found),
        "The best accuracy of each set minus that of its best classical model: "
        + " and ".join(f"{lead:+.3f}" for lead in leads)
        + (". Neither shows an advantage over classical models" if max(leads) <= 0 else "")
        + ". They do not validate aqka on hardware.",
    ]
