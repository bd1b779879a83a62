"""The figures of a report, for a program."""

from dataclasses import asdict
from typing import Any

import numpy as np

from aqka.core.points import PointTable
from aqka.report.run_report import RunReport
from aqka.report.value_results import ValueResults
from aqka.report.verdict import can_learn, decide


def summary(report: RunReport) -> dict[str, Any]:
    """Return what the page says as plain values; the pairs are in the ledger's export."""
    table, found = report.table, report.point_results
    tested = None
    if found is not None:
        tested = {
            "accuracy": found.accuracy,
            "standard_error": found.standard_error,
            "interval": list(found.interval),
            "balanced_accuracy": found.balanced_accuracy,
            "majority_accuracy": found.majority_accuracy,
            "gain": found.over_guessing.difference,
            "gain_p_value": found.over_guessing.p_value,
            "ids": found.ids,
            "predicted": found.predicted,
            "settled": int(found.settled.sum()),
            "could_flip": None if found.could_flip is None else int(found.could_flip.sum()),
            "points": len(found.truth),
            "shots": int(found.shots.sum()),
        }
    verdict = decide(report)
    return {
        "name": report.name,
        "verdict": verdict.outcome,
        "words": verdict.words,
        "can_learn": can_learn(report),
        "rivals": [
            asdict(one) | {"p_value": one.p_value, "better": one.better, "worse": one.worse}
            for one in report.rivals
        ],
        "bill": [row._asdict() for row in report.bill],
        "circuit": report.circuit.facts,
        "state": report.state,
        "backend": report.backend,
        "version": report.version,
        "shots": table.total,
        "budget": report.budget,
        "training_points": table.n_points,
        "pairs": None if report.measures_points else report.pairs.n_pairs,
        "pairs_seen": None if report.measures_points else int(np.sum(~report.pairs.unseen)),
        "kernel_of_points": _kernel_of_points(report),
        "rounds": [asdict(one) for one in report.rounds],
        "diagnostics": None if report.diagnostics is None else asdict(report.diagnostics),
        "noise_floor": report.noise_floor,
        "eigenvalues_above_it": int(np.sum(report.eigenvalues > report.noise_floor)),
        "steering": None if report.steering is None else asdict(report.steering),
        "fewer_shots": [asdict(part) for part in report.fewer],
        "test_points": tested,
        **({} if report.values is None else _values(report.values)),
        "quote_versus_actual": report.usage,
        "ledgers": {name: asdict(audit) for name, audit in report.ledgers.items()},
        "settings": report.settings,
        "notes": report.notes,
    }


def _kernel_of_points(report: RunReport) -> dict[str, Any] | None:
    """Return how well the kernel is known where points were measured."""
    found = report.measured
    if found is None or not isinstance(report.table, PointTable):
        return None
    return {
        "qubits": report.table.n_qubits,
        "settings": report.table.n_settings,
        "median_error": found.median_error,
        "equivalent_pair_shots": found.equivalent_shots,
        "words": found.sentences,
    }


def _values(found: ValueResults) -> dict[str, Any]:
    rivals = [
        asdict(one) | {"p_value": one.p_value, "better": one.better, "worse": one.worse}
        for one in found.rivals
    ]
    return {"test_values": asdict(found.scores), "value_rivals": rivals}
