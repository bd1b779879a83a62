"""Public measurements of others, and what can be said from them.

``python -m aqka_research.benchmarks.public_data FOLDER`` writes docs/measured/public-data.md; it
takes about a minute. The environment variable ``AQKA_PUBLIC_DATA`` may name the folder. It holds:

- ``ibm-60-qubits``: ``projections_{train,test}.csv`` and ``{train,test}_data.csv`` of Qiskit's
  tutorial on projected kernels (Qiskit/documentation, datasets/tutorials/pqk);
- ``eon-100-qubits``: ``bits.npz``, whose array B packs the bits of 30 × 30 × 500 shots of 100
  qubits, and ``inputs.csv`` (IBM-EON/mitigating-covariant-quantum-kernels, arXiv:2412.07915).

Nothing of them is part of this project.
"""

import os
import sys
from pathlib import Path

from aqka.errors import InputError
from aqka_research.benchmarks.tables import MEASURED

VARIABLE = "AQKA_PUBLIC_DATA"
PAGE = MEASURED / "public-data.md"


def folder(arguments: list[str] | None = None) -> Path:
    """Return the folder of public data that is named by an argument or the environment."""
    named = (arguments or []) + [os.environ.get(VARIABLE, "")]
    if not named[0]:
        raise InputError(
            f"public data are not part of aqka: name their folder as an argument or in {VARIABLE}. "
            "What it holds and where that comes from: pydoc aqka_research.benchmarks.public_data"
        )
    place = Path(named[0])
    for part in ("ibm-60-qubits", "eon-100-qubits"):
        if not (place / part).is_dir():
            raise InputError(f"{place} has no folder {part}; see {__name__}.")
    return place


def main() -> None:
    """Measure both sets and write the page."""
    from aqka_research.benchmarks import public_pairs, public_projections

    place = folder(sys.argv[1:])
    sections = [
        "# Public data",
        f"Written by `python -m {__spec__.name}` from two sets of measurements that others "
        "published, which are no part of this project. Nothing here was run on a device by aqka: "
        "shots are drawn again from published values, or taken from published bits.",
    ]
    for module in (public_projections, public_pairs):
        sections += module.sections(place)
        print("\n\n".join(sections[-4:]), flush=True)
    seconds = public_projections.qpu_seconds(246, shots=300)
    sections += [
        "## What may be claimed",
        f"- The same accuracy from about {seconds:.0f} s of QPU time, where the tutorial took 80 "
        "minutes: by emulated shot noise on mitigated values, not by a run.\n"
        "- Reading flipped bits instead of all zeros makes pairs of 100 qubits usable.\n\n"
        "Not: an advantage over classical models, for there is none on either set; nor that aqka "
        "was validated on hardware.",
    ]
    PAGE.write_text("\n\n".join(sections) + "\n")
    print(f"wrote {PAGE.name}")


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(str(error))
