"""The page is a list of sections, and each may be missing."""

from dataclasses import replace

import numpy as np
import pytest

from aqka.backends.feature_maps import built_in_map
from aqka.report import usage
from aqka.report.run_page import run_page
from aqka.report.sections import confusion_matrix, run_sections
from aqka.report.usage import bill
from aqka.report.words import GLOSSARY
from aqka.study.results import used_by
from aqka.study.store import RunStore
from tests.report.verdicts import with_evidence


def headings(report):
    return [section.heading for section in run_sections(report)]


def test_what_a_run_has_nothing_to_say_in_is_left_out(report):
    full = headings(report)
    assert full[:3] == ["Compared with other models", "Test points", "Where the shots went"]
    pending = replace(report, tested=None, rivals=[])
    assert [one for one in full if one not in headings(pending)] == full[:2]
    bare = replace(pending, study_text="", circuit={})
    assert "Settings" not in headings(bare)
    assert "Circuit, layout and calibration" not in headings(bare)
    for name in headings(bare):
        assert f"<h2>{name}</h2>" in run_page(bare)


def test_rivals_stand_in_a_table_with_their_intervals(report):
    section = run_sections(with_evidence(report, plain=(0, 12)))[0]
    names = [row[0] for row in section.data["rows"]]
    assert names == ["this run", "exact kernel", "RBF SVM", "majority class"]
    plain = section.data["rows"][2]
    assert plain[4:6] == ("12 : 0", "better, p = 0.001")
    left, right = plain[2].narrow
    assert left < plain[2].value < right
    assert section.data["rows"][0][2].border == plain[2].border  # one axis for all
    sampled = with_evidence(report)
    sampled.rivals[1] = replace(sampled.rivals[1], n_trained=5)
    assert "a sample of 5 of the 12 training points" in run_page(sampled)


def test_the_confusion_matrix_counts_every_point_once(report):
    found = report.tested
    classes, counts = confusion_matrix(found)
    pairs = list(zip(found.truth, found.predicted, strict=True))
    assert counts == [[pairs.count((a, b)) for b in classes] for a in classes]
    assert np.trace(counts) == found.right.sum()
    page = run_page(report)
    assert page.count(' hit">') == len(classes)
    for k, row in enumerate(counts):
        assert f"<td>{row[k]} of {sum(row)}</td>" in page
        for number in row:
            assert f'class="shade{-(-5 * number // sum(row))}' in page
    names = [f"class {k}" for k in range(25)]
    many = replace(found, classes=names, truth=names, predicted=names)
    assert confusion_matrix(many) is None


def test_the_circuit_is_drawn_and_described(report):
    section = next(one for one in run_sections(report) if one.name == "circuit")
    assert section.data["feature map"].startswith("ZZ map, neighbours coupled")
    assert "P(2*x[0])" in report.drawing
    assert run_page(report).count("P(2*x[1])") == report.drawing.count("P(2*x[1])")


@pytest.mark.parametrize("name", ["z", "zz", "zz-full"])
def test_a_built_in_map_is_drawn_as_qiskit_builds_it(name):
    """The gates that are drawn, with their angles filled in, make the same unitary."""
    from qiskit import QuantumCircuit
    from qiskit.quantum_info import Operator

    x, circuit = [0.3, 1.1, 2.0], QuantumCircuit(3)
    for column in usage._columns(name, 3, 2):
        gates = {k: text for k, text in column.items() if text != "│"}
        if "X" in gates.values():
            circuit.cx(*sorted(gates, key=lambda k: gates[k] == "X"))
            continue
        for k, text in gates.items():
            if text == "H":
                circuit.h(k)
            else:
                circuit.p(eval(text.removeprefix("P"), {"x": x, "π": np.pi}), k)
    built = built_in_map(name, 3, 2).assign_parameters(x)
    assert np.allclose(Operator(circuit).data, Operator(built).data)
    lines = usage._draw(usage._columns(name, 3, 2), 3).splitlines()
    assert max(map(len, lines)) <= usage.FOLD
    assert {len(line) for line in lines[:3]} == {len(lines[0])}


def test_words_of_the_page_are_in_the_glossary(report):
    page = run_page(report)
    for word in ("could flip", "settled", "exact kernel", "plain model", "Gini", "spectrum"):
        assert word in GLOSSARY
        assert f">{word}</dt>" in page


def test_accuracy_has_one_axis_in_all_charts(report):
    section = next(one for one in run_sections(report) if one.heading == "Round by round")
    by_round, fewer, diagnostics = section.data["charts"]
    assert by_round.x == fewer.x == diagnostics.x
    assert by_round.y == fewer.y
    low, high = np.array(report.tested.interval)
    assert by_round.y.low < low < high < by_round.y.high


def test_missing_wide_intervals_have_their_reason(report):
    with_wide = run_page(report)
    assert "are not drawn" not in with_wide
    assert "Could flip: only the wide interval" in with_wide
    tested = replace(report.tested, wide=None, no_wide="it is a test")
    page = run_page(replace(report, tested=tested))
    assert "are not drawn: it is a test." in page
    assert "Could flip: only the wide interval" not in page
    assert "<i>Settled</i> is decided earlier" in page


def test_a_simulator_has_no_quoted_seconds(report):
    def figures(found):
        section = next(one for one in run_sections(found) if one.name == "costs")
        return [row[0] for row in section.data["usage"]]

    assert figures(report)[:2] == ["shots", "submissions"]
    assert not [name for name in figures(report) if "seconds" in name or "cost" in name]
    assert "Times are left out" in run_page(report)
    rows = [row | {"actual": 9.0} if "QPU" in row["figure"] else row for row in report.usage]
    assert {"QPU seconds", "seconds in all"} <= set(figures(replace(report, usage=rows)))


def test_a_device_in_this_process_has_no_qpu_time(run):
    history = RunStore(run).training
    for said, shown in ((0.0, None), (None, None), (3.5, 3.5)):
        history.qpu_seconds = said
        assert bill(used_by(history))[1].training == shown
