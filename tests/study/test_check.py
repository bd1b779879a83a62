"""From a study to its check, and settings back into its file."""

import numpy as np
import pytest

from aqka.errors import InputError
from aqka.maths.point_law import label_shots
from aqka.study.check import StudyCheck
from aqka.study.directory import prepare
from aqka.study.new_study import example, study_of_data, with_settings, write_settings
from aqka.study.schema import load_study, parse_study
from tests.study.helpers import small, write_study

TEXT = """\
# mine
[data]
source = "moons"   # two half circles
[feature_map]
qubits = 2         # one per column
range = [0, 1]
[budget]
train = "900 shots"
"""


def test_a_check_sees_all_points_but_those_for_testing(tmp_path):
    path = write_study(tmp_path)
    check = StudyCheck.of(load_study(path)[0], tmp_path)
    points = prepare(path).points
    assert len(check.y) == 200 - len(points.test)
    own = check.candidates[0]
    assert {tuple(x) for x in points.train} <= {tuple(x) for x in own.angles}
    assert check.spending.n_train == len(points.train)
    assert check.spending.budget == 1200
    assert check.spending.test_shots == 20
    assert check.spending.schedule.rounds == 3


def test_shots_of_many_qubits_are_shots_on_points(tmp_path):
    """On pairs, 20 qubits would make them worth a millionth of a shot."""
    text = small(backend="light-cone", method='design = "points"', test_shots=80)
    text = text.replace('"moons"', '"breast-cancer"').replace("qubits = 2", "qubits = 20")
    text = text.replace("train = 12", "train = 24")
    check = StudyCheck.of(load_study(write_study(tmp_path, text))[0], tmp_path)
    assert (check.spending.budget, check.spending.test_shots) == (1200, 80)
    assert check.shots == "50 shots on every point"
    assert len(check.candidates) == 7  # other ranges alone


def test_a_scan_has_maps_ranges_and_qubits_of_the_schema(tmp_path):
    text = small().replace('"moons"', '"breast-cancer"').replace("qubits = 2", "qubits = 3")
    check = StudyCheck.of(load_study(write_study(tmp_path, text))[0], tmp_path)
    tried = [candidate.settings for candidate in check.candidates]
    assert tried[0] == {
        "feature_map.map": "zz",
        "feature_map.qubits": 3,
        "feature_map.range": [0.0, 3.141592653589793],
        "feature_map.reps": 2,
    }
    assert {settings["feature_map.map"] for settings in tried} == {"zz", "zz-full", "z"}
    assert {settings["feature_map.qubits"] for settings in tried} == {2, 3, 4, 8}
    assert {settings["feature_map.reps"] for settings in tried} == {1, 2, 3}
    assert len(tried) == 3 * 4 * 3 * 7  # the study's own range is not tried twice
    for settings in tried:  # each is a study that can be run
        parse_study(with_settings(text, settings))


def test_a_candidate_is_the_circuit_that_its_settings_run(tmp_path):
    from aqka.backends import StatevectorBackend

    text = small().replace("qubits = 2", "qubits = 2\nreps = 3")
    check = StudyCheck.of(parse_study(text), tmp_path)
    assert check.candidates[0].settings["feature_map.reps"] == 3
    for candidate in (check.candidates[0], *check.candidates[1::17]):
        path = write_study(tmp_path, with_settings(text, check.changes(candidate)))
        prepared = prepare(path)
        exact = StatevectorBackend(prepared.points.train, prepared.circuit).kernel()
        rows = [
            next(k for k, x in enumerate(candidate.angles) if np.allclose(x, point))
            for point in prepared.points.train
        ]
        assert candidate.kernel()[np.ix_(rows, rows)] == pytest.approx(exact)


def test_a_circuit_of_ones_own_is_tried_with_other_ranges_only(tmp_path):
    from qiskit import qpy

    from aqka.backends.feature_maps import built_in_map

    with (tmp_path / "map.qpy").open("wb") as stream:
        qpy.dump(built_in_map("zz", 2), stream)
    text = small().replace("qubits = 2", 'map = "map.qpy"')
    check = StudyCheck.of(parse_study(text), tmp_path)
    assert len(check.candidates) == 7
    assert {c.settings["feature_map.map"] for c in check.candidates} == {"map.qpy"}
    own, zz = check.candidates[0], StudyCheck.of(parse_study(small()), tmp_path).candidates[0]
    assert own.kernel() == pytest.approx(zz.kernel())
    assert "feature_map.reps" not in own.settings


def test_a_study_that_leaves_the_design_and_the_split_open_can_be_checked(tmp_path):
    text = TEXT.replace('train = "900 shots"', 'total = "9000 shots"')
    check = StudyCheck.of(parse_study(text + '[method]\ndesign = "auto"\n'), tmp_path)
    # Points are simulated as the shots on pairs that label as well.
    assert check.shots == "45 shots on every point, worth 9.89 on every pair,"
    n_pairs = check.spending.n_train * (check.spending.n_train - 1) // 2
    assert check.spending.budget == round(label_shots(2, 45) * n_pairs)


def test_the_example_learns_with_its_budget(tmp_path):
    from aqka.insight.fold_scores import repeated_folds, subsample
    from aqka.insight.scan import forecast

    check = StudyCheck.of(parse_study(example()), tmp_path)
    chosen = subsample(check.y, 200)
    y, kernel = check.y[chosen], check.candidates[0].kernel()[np.ix_(chosen, chosen)]
    folds = repeated_folds(y, check.spending.n_train, repeats=1)
    found = forecast("example", lambda _: kernel, y, folds, check.spending)
    assert found.means.min() > 0.9


def test_only_the_changed_values_change():
    changed = with_settings(TEXT, {"feature_map.qubits": 12, "feature_map.map": "z"})
    before, after = TEXT.splitlines(), changed.splitlines()
    assert 'map = "z"' in after
    assert "qubits = 12        # one per column" in after
    assert [line for line in after if line not in ('map = "z"', after[5])] == [
        line for line in before if "qubits" not in line
    ]
    windows = with_settings(TEXT.replace("\n", "\r\n"), {"feature_map.map": "z"})
    assert windows.count("\r\n") == windows.count("\n") == TEXT.count("\n") + 1


def test_a_table_that_is_missing_is_added_with_what_it_needs(tmp_path):
    text = '[data]\nsource = "breast-cancer"\n[split]\ntest = 30\ntrain = 40\n[budget]\ntrain = 900'
    check = StudyCheck.of(parse_study(text), tmp_path)
    other = next(c for c in check.candidates if c.settings["feature_map.range"] == [0.0, 0.7854])
    assert check.changes(check.candidates[0]) == {}
    study = parse_study(with_settings(text, check.changes(other)))
    assert study.feature_map.range == [0.0, 0.7854]
    assert study.feature_map.qubits == other.settings["feature_map.qubits"]


@pytest.mark.parametrize(
    "layout",
    [
        "range = [0,  # from\n  1]",
        'qubits = 2\nrange = [0, 1]\n"map" = "zz"',
    ],
)
def test_a_layout_that_would_lose_text_is_refused(tmp_path, layout):
    text = TEXT.replace("range = [0, 1]", layout)
    if layout.startswith("qubits"):
        text = text.replace("qubits = 2         # one per column\n", "", 1)
    path = write_study(tmp_path, text)
    settings = {"feature_map.map": "z", "feature_map.range": [0.0, 1.5]}
    with pytest.raises(InputError, match=r"left as it is. Set yourself: .*range = \[0.0, 1.5\]"):
        write_settings(path, text, settings)
    assert path.read_text() == text


def test_an_inline_table_is_refused():
    text = 'feature_map = {qubits = 2}\n[data]\nsource = "moons"\n[budget]\ntrain = 900\n'
    with pytest.raises(InputError, match="cannot be changed safely"):
        with_settings(text, {"feature_map.qubits": 3})


def test_a_file_that_changed_meanwhile_or_is_a_link_keeps_what_it_is(tmp_path):
    path = write_study(tmp_path, TEXT)
    with pytest.raises(InputError, match="changed meanwhile"):
        write_settings(path, TEXT + "# older\n", {"feature_map.qubits": 3})
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    write_settings(link, TEXT, {"feature_map.map": "z"})
    assert link.is_symlink()
    assert load_study(path)[0].feature_map.map == "z"


def write_csv(directory, n_points=60, n_columns=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_points, n_columns))
    rows = [",".join([*(f"{x:.4f}" for x in row), str(int(row[0] > 0))]) for row in X]
    names = [f"c{k}" for k in range(n_columns)]
    path = directory / "my data.csv"
    path.write_text("\n".join([",".join([*names, "y"]), *rows]) + "\n")
    return path


@pytest.mark.parametrize("columns", [1, 2])
def test_few_columns_have_few_qubits(tmp_path, columns):
    started = []

    class Enough(Exception):
        pass

    def run(check):
        started.append(check.study.feature_map)
        raise Enough

    with pytest.raises(Enough):
        study_of_data(tmp_path / "s.toml", write_csv(tmp_path, n_columns=columns), run, target="y")
    assert started[0].qubits == columns


def test_data_elsewhere_or_of_another_kind_is_refused(tmp_path):
    (tmp_path / "here").mkdir()
    data = write_csv(tmp_path)
    with pytest.raises(InputError, match="does not lie beside the study file"):
        study_of_data(tmp_path / "here" / "s.toml", data, StudyCheck.run, target="y")
    with pytest.raises(InputError, match=r"--data must end in \.csv"):
        study_of_data(tmp_path / "s.toml", tmp_path / "x.xlsx", StudyCheck.run)
    with pytest.raises(InputError, match=r"data\.target is missing"):
        study_of_data(tmp_path / "s.toml", data, StudyCheck.run)
