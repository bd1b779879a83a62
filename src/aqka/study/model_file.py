"""A finished run as one file that answers new points without a backend, where its prior is sure.

The file is an npz archive without pickled objects. Its array ``about`` is a JSON text with
``format``, ``error_rate``, ``terms`` (the gate angles, as polynomials of the features),
``periodic``, ``fills_gaps`` and ``id``. ``columns`` to ``range`` and ``other_texts`` encode a
table's columns as features (:class:`~aqka.study.points.Encoding`), ``classes``, ``alpha`` and
``intercept`` are the head's, and the rest is the Gaussian process
(:class:`~aqka.maths.angle_prior.AnglePrior`).
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import BoolArray, FloatArray
from aqka._util.files import write_atomically
from aqka._util.shown import Shown
from aqka._util.text import inert
from aqka.backends.circuits import as_data
from aqka.backends.gate_angles import GateAngles
from aqka.designs.prior import FittedPrior, PredictionPrior
from aqka.designs.resolve import as_prior
from aqka.errors import InputError
from aqka.maths.angle_prior import AngleKernel, AnglePrior
from aqka.study._formats import as_npz, read_arrays
from aqka.study.method import begun_session, fit_head, fitted_prior
from aqka.study.new_points import finished_run
from aqka.study.points import ENCODING, Encoding

FORMAT = "aqka model 1"
PROCESS = ("angles", "values", "amplitudes", "ratios")
OTHERS = ("widths", "scales", "alpha", "intercept")


@dataclass(frozen=True, eq=False, repr=False)
class ModelAnswers(Shown):
    """What a model file says of points."""

    labels: NDArray[Any]  # the most likely classes
    settled: BoolArray  # points it is sure of; it abstains from the others, which need shots
    mean: FloatArray  # of f, one column per output
    deviation: FloatArray

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per point, of plain values; the label of one it abstains from is empty."""
        one = self.mean.shape[1] == 1
        numbers = [a[:, 0].tolist() if one else a.tolist() for a in (self.mean, self.deviation)]
        columns = self.labels.tolist(), self.settled.tolist(), *numbers
        return [
            {"point": k, "label": label if sure else "", "settled": sure}
            | {"decision": f, "deviation": deviation}
            for k, (label, sure, f, deviation) in enumerate(zip(*columns, strict=True))
        ]

    def _figures(self) -> dict[str, object]:
        return {"points": len(self.labels), "answered": int(self.settled.sum())}


@dataclass(frozen=True, eq=False, repr=False)
class SavedModel(Shown):
    """A trained model that needs no backend; it answers what its prior is sure of."""

    prior: FittedPrior  # what the training points say about others
    encoding: Encoding  # from the columns of a table to features
    classes: NDArray[Any]  # these and the next two are the head's
    alpha: FloatArray
    intercept: FloatArray
    fills_gaps: bool = False  # whether NaN in a column stands for the training points' median
    id: str | None = None  # the column of a file that names its points

    @property
    def columns(self) -> str:
        """The columns that points must have."""
        return ", ".join(self.encoding.columns)

    def predict(self, X: ArrayLike) -> ModelAnswers:
        """Return classes of points in the columns that the run was trained on, and which count."""
        width, points = len(self.encoding.columns), np.asarray(X)
        if points.ndim != 2 or points.shape[1] != width:
            raise InputError(
                f"X must have {width} columns, {inert(self.columns, 200)}; got {points.shape}."
            )
        points = as_data(self.encoding.filled(points) if self.fills_gaps else points)
        said = self.prior.answers(self.encoding.features(points))
        return ModelAnswers(self.classes[said.winner], said.settled, said.mean, said.deviation)

    def _figures(self) -> dict[str, object]:
        return {"columns": self.columns, "classes": ", ".join(map(str, self.classes))}


def export_model(directory: Path, output: Path, *, allow_code: bool = False) -> SavedModel:
    """Write the model of a finished run to a file, and return it."""
    prepared, history = finished_run(directory, allow_code)
    study, encoding = prepared.study, prepared.points.encoding
    head, _ = fit_head(prepared, begun_session(prepared, history), history)
    if study.data.task == "regression" or not head.estimate.rows_are_alike:
        why = "it is a regression" if study.data.task == "regression" else "its kernel is mitigated"
        raise InputError(
            f"the run cannot be exported: {why}, and a model file answers classes by the kernel as "
            "it was measured. Predict with the run's directory."
        )
    settings = as_prior(study.method.prior) or PredictionPrior()
    prior = fitted_prior(prepared, head, settings)
    process = prior.process
    about = {
        "format": FORMAT,
        "error_rate": settings.error_rate,
        "periodic": prior.angles.periodic,
        "terms": prior.angles.terms,
        "fills_gaps": study.data.missing == "median",
        "id": study.data.id,
    }
    arrays = vars(encoding) | {name: getattr(process, name) for name in PROCESS}
    arrays |= {"widths": process.kernel.widths, "scales": process.kernel.scales}
    arrays |= {"used": process.columns, "classes": head.classes, "alpha": head.coefficients}
    arrays["intercept"] = np.ravel(head.intercept) + np.zeros(head.coefficients.shape[1])
    arrays["about"] = np.array(json.dumps(about))
    write_atomically(output, as_npz(arrays))
    return load_model(output)


def load_model(path: str | Path) -> SavedModel:
    """Read a model file safely, whoever wrote it: sizes and types are checked, no code is run.

    Parameters
    ----------
    path : path
        What ``aqka export-model`` wrote.
    """
    file = Path(path)
    arrays = read_arrays(file, "model file")
    try:
        return _model(arrays)
    except Exception as error:  # anything may be wrong with it
        raise InputError(
            f"{inert(file.name)} is not a model that aqka export-model wrote: {inert(error, 100)}."
        ) from None


def _model(arrays: dict[str, NDArray[Any]]) -> SavedModel:
    """Return the model of arrays; anything may be wrong with them."""
    about = json.loads(str(arrays["about"]))
    _check(about["format"] == FORMAT, f"its format is not {FORMAT!r}")
    floats = [arrays[name] for name in (*ENCODING, *PROCESS, *OTHERS)]
    finite = all(a.dtype == np.float64 and np.isfinite(a).all() for a in floats)
    _check(finite, "numbers are missing or not finite")
    read = [[(float(c), tuple(map(int, which))) for c, which in one] for one in about["terms"]]
    terms = tuple(map(tuple, read))
    used, classes, periodic = arrays["used"], arrays["classes"], about["periodic"]
    (features, width), (n_points, outputs) = arrays["components"].shape, arrays["values"].shape
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("columns", "fill", "centre"), (width,))
    shapes |= dict.fromkeys(("lowest", "highest"), (features,)) | {"range": (2,)}
    shapes |= dict.fromkeys(("widths", "scales"), (used.size,))
    shapes |= {"used": (used.size,), "angles": (n_points, used.size), "alpha": (n_points, outputs)}
    shapes |= dict.fromkeys(("amplitudes", "ratios", "intercept"), (outputs,))
    shapes |= {"classes": (max(2, outputs),)}
    wrong = [name for name, shape in shapes.items() if arrays[name].shape != shape]
    _check(not wrong, f"its arrays do not fit each other: {', '.join(wrong)}")
    named = [k for one in terms for _, which in one for k in which]
    inside = used.dtype.kind == "i" and 0 <= used.min() <= used.max() < len(terms)
    _check(inside and all(0 <= k < features for k in named), "its angles name unknown features")
    _check(all(math.isfinite(c) for one in terms for c, _ in one), "its angles are not finite")
    positive = all(np.all(arrays[n] > 0) for n in ("widths", "scales", "amplitudes", "ratios"))
    sound = positive and classes.dtype.kind in "iUb" and isinstance(periodic, bool)
    _check(sound, "its settings are not those of a model")
    kernel = AngleKernel(arrays["widths"], arrays["scales"], periodic)
    process = AnglePrior(kernel, used, *(arrays[name] for name in PROCESS))
    with np.errstate(all="ignore"):
        said = process.predict(np.zeros((1, len(terms))))
    _check(all(np.isfinite(values).all() for values in said), "its numbers are out of range")
    angles = GateAngles(terms, periodic)
    prior = FittedPrior(PredictionPrior(about["error_rate"]), angles, process)
    head = classes, arrays["alpha"], arrays["intercept"]
    names = about["id"] if isinstance(about["id"], str) else None
    return SavedModel(prior, Encoding.of(arrays), *head, about["fills_gaps"] is True, names)


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
