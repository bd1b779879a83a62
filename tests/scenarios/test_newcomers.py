"""Mistakes that newcomers make, and what they are told."""

import json
import sys

import numpy as np
import pytest

from aqka import InputError
from aqka.cli import app as cli
from aqka.learners import DEFAULT_LEARNER
from aqka.study.carry_out import carry_out
from aqka.study.directory import prepare
from aqka.study.new_study import example
from aqka.study.schema import parse_study
from tests.study.helpers import small, write_study

CSV = "size,weight,kind\n" + "".join(f"{k},{k % 5},{'ab'[k % 2]}\n" for k in range(40))


def call(monkeypatch, capsys, *arguments):
    """Run the command line in this process; return its exit code and what it said."""
    monkeypatch.setattr(sys, "argv", ["aqka", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    return stop.value.code or 0, shown.out, shown.err


def with_csv(directory, csv=CSV, target="kind", **settings):
    directory.mkdir(exist_ok=True)
    (directory / "data.csv").write_text(csv)
    text = small(**settings).replace('"moons"', f'"data.csv"\ntarget = "{target}"')
    return write_study(directory, text)


def refused(path, words):
    with pytest.raises(InputError, match=words) as told:
        carry_out(prepare(path), path.parent / "run")
    assert not (path.parent / "run").exists()  # nothing is left behind
    return str(told.value)


def test_the_right_way_works(tmp_path, monkeypatch, capsys):
    code, out, _ = call(monkeypatch, capsys, "run", with_csv(tmp_path), "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["results"]["shots"] == 1200
    assert answer["results"]["classes"] == ["a", "b"]
    assert json.loads((tmp_path / "run" / "results.json").read_text())["results"]


def test_1_a_wrong_column_name_gets_the_nearest(tmp_path):
    told = refused(with_csv(tmp_path, target="knd"), "has no column 'knd'")
    assert "Did you mean 'kind'?" in told
    assert "It has: size, weight, kind" in told


def test_2_words_in_a_feature_are_named_with_their_line(tmp_path):
    path = with_csv(tmp_path, CSV.replace("7,2,b", "7,heavy,b"))
    refused(path, "line 9: column 'weight' holds 'heavy', not a number. List the numeric columns")


def test_3_three_classes_work_and_a_number_per_row_does_not(tmp_path):
    three = "a,b,kind\n" + "".join(f"{k},{k % 7},{'xyz'[k % 3]}\n" for k in range(40))
    path = with_csv(tmp_path / "three", three)
    found = carry_out(prepare(path), path.parent / "run").results
    assert found["results"]["classes"] == ["x", "y", "z"]
    ids = "id,b,c\n" + "".join(f"{k},{k % 7},{k % 3}\n" for k in range(40))
    refused(with_csv(tmp_path / "ids", ids, target="id"), "single point.*the right column")
    real = CSV.replace("\n", ".5\n").replace("a.5", "1.5").replace("b.5", "2.5")
    refused(with_csv(tmp_path / "real", real.replace("kind.5", "kind")), "real numbers.*regression")


@pytest.mark.parametrize("cell", ["", "NaN", "nan", "NA", "inf", "-Infinity"])
def test_4_a_gap_is_named_with_its_line(tmp_path, cell):
    path = with_csv(tmp_path, CSV.replace("7,2,b", f"7,{cell},b"))
    refused(path, "line 9: column 'weight' is empty, NaN or infinite; drop those rows")


def test_5_a_budget_too_small_says_how_much_is_needed(tmp_path):
    told = refused(write_study(tmp_path / "shots", budget="10 shots"), "pays for 10 shots, but 12")
    assert "66 or more, one for each pair" in told
    refused(write_study(tmp_path / "time", budget="1 s"), "does not pay for a single shot")
    refused(write_study(tmp_path / "money", budget="$5"), "needs a rate")


def test_6_a_missing_extra_is_named_with_its_command(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "qiskit", None)
    path = write_study(tmp_path, small().replace("qubits = 2", 'map = "z"\nqubits = 2'))
    monkeypatch.setitem(sys.modules, "qiskit.circuit.library", None)
    refused(path, r"pip install 'aqka\[qiskit\]'")


def test_6_a_missing_pyarrow_is_named_with_its_command(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = write_study(tmp_path, small().replace('"moons"', '"x.parquet"\ntarget = "y"'))
    refused(path, r"pip install 'aqka\[parquet\]'")


@pytest.mark.parametrize(("name", "near"), [("statevec", "statevector"), ("IBM", "ibm")])
def test_7_an_unknown_backend_gets_the_nearest(tmp_path, name, near):
    told = refused(write_study(tmp_path, backend=name), "line 11: backend.name: unknown backend")
    assert f"Did you mean '{near}'?" in told


def test_7_an_unknown_device_gets_the_nearest(tmp_path):
    path = write_study(tmp_path, backend="ibm", extra='device = "fake_fes"')
    refused(path, "Did you mean 'fake_fez'?")


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9])
def test_8_half_written_toml_says_the_line(tmp_path, cut):
    text = small()
    place = text.index("=", int(cut * len(text))) + 1
    refused(write_study(tmp_path, text[:place]), "is not complete TOML: .*line")


def test_9_a_read_only_directory_is_said(tmp_path, monkeypatch):
    path = write_study(tmp_path / "study")

    def refuse(*_, **__):  # as root may write anywhere, the system's answer is played
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    refused(path, "cannot be written: Permission denied; name another with --output")


def test_9_a_place_where_no_directory_can_be_made_is_said(tmp_path):
    path = write_study(tmp_path, small().replace('"run"', '"study.toml/run"'))
    with pytest.raises(InputError, match="name another"):
        carry_out(prepare(path), tmp_path / "study.toml" / "run")


# 10, a killed terminal, is in test_signals.py.


def test_a_typo_gets_the_nearest_key_and_the_line():
    with pytest.raises(InputError) as told:
        parse_study(small().replace("test_shots", "test_shot"), "study.toml")
    assert str(told.value).startswith(
        "study.toml, line 15: unknown key 'test_shot' in [budget]. Did you mean 'test_shots'?"
    )
    with pytest.raises(InputError, match=r"unknown key 'dta'\. Did you mean 'data'"):
        parse_study(small().replace("[data]", "[dta]"))
    with pytest.raises(InputError, match=r"unknown key 'allocator' in \[budget\]. It belongs in"):
        parse_study(small().replace("test_shots = 20", 'allocator = "aqka"'))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("qubits = 2", 'qubits = "2"', "line 9: feature_map.qubits: input should be a valid int"),
        ("qubits = 2", "qubits = 1", "qubits must be at least 2"),
        ("qubits = 2", "qubits = 10000", "less than or equal to 256"),
        ("qubits = 2", "", "qubits is missing"),
        ("qubits = 2", 'map = "zzz"\nqubits = 2', "unknown feature map 'zzz'. Did you mean 'zz'"),
        ("qubits = 2", "qubits = 2\nrange = [1.0, 1.0]", "range must rise"),
        ("rounds = 3", 'allocator = "aqa"', "Did you mean 'aqka'"),
        ("rounds = 3", 'allocator = "aqka-oracle"', "knows the true kernel"),
        ("rounds = 3", 'learner = "svn"', "Did you mean 'svm'"),
        ("rounds = 3", "ridge = nan", "finite number"),
        ("1200 shots", "many", "budget 'many' is not a finite number"),
        ("1200 shots", "5 mim", "Did you mean 'mi"),
        ("train = 12", "train = 0", "split.train: must be a number of points, 2 or more, or a f"),
        ("train = 12", 'train = "x"', "split.train: must be a number of points"),
        ('[data]\nsource = "moons"', "data = 3", r"data must be a table: write \[data\]"),
        ('"1200 shots"', "12.5", "budget.train: must be text such as '20000 shots'"),
        (
            'name = "statevector"',
            'name = "statevector"\nnoise = [0.1, 0.1]',
            "noise is for the backend 'aer'",
        ),
        ("[budget]\n", "[budget]\nrate = -1\n", "budget.rate: input should be greater than 0"),
    ],
)
def test_other_mistakes_say_what_is_allowed(old, new, words):
    text = small()
    assert old in text
    with pytest.raises(InputError, match=words):
        parse_study(text.replace(old, new))


def test_a_missing_table_is_said():
    with pytest.raises(InputError, match="budget is missing"):
        parse_study('[data]\nsource = "moons"')


def test_a_used_directory_is_not_touched(tmp_path, monkeypatch, capsys):
    path = write_study(tmp_path)
    assert call(monkeypatch, capsys, "run", path)[0] == 0
    code, _, told = call(monkeypatch, capsys, "run", path)
    assert code == 2
    assert "already holds a run; continue it with 'aqka resume" in told
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "precious").write_text("mine")
    code, _, told = call(monkeypatch, capsys, "run", path, "--output", tmp_path / "other")
    assert code == 2
    assert "is not empty" in told
    code, _, told = call(monkeypatch, capsys, "resume", tmp_path / "other")
    assert code == 2
    assert "holds no run" in told
    assert "there is no run" in call(monkeypatch, capsys, "status", tmp_path / "none")[2]


def test_a_feature_map_that_needs_more_features_than_there_are_is_refused(tmp_path):
    path = write_study(tmp_path, small().replace("qubits = 2", "qubits = 3"))
    refused(path, "encodes 3 features but the data have 2; lower feature_map.qubits")


def test_the_example_runs_and_is_not_written_twice(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, _ = call(monkeypatch, capsys, "init", "my study.toml")
    assert code == 0
    assert "aqka check 'my study.toml' && aqka run 'my study.toml'" in out
    assert call(monkeypatch, capsys, "init", "my study.toml")[0] == 2
    code, out, _ = call(monkeypatch, capsys, "run", "my study.toml")
    assert code == 0
    assert "accuracy" in out
    used = out[out.index("quoted and used") :]
    assert "submissions in all" in used
    assert "seconds" not in used  # those of a simulator say nothing of a device's
    assert (tmp_path / "runs" / "my-study" / "results.json").exists()


def test_the_example_shows_every_key_with_its_true_default():
    """Keys behind a # are switched on, one by one, and must be keys."""
    from aqka.study.schema import Study

    text = example()
    for name, section in Study.model_fields.items():
        fields = getattr(section.annotation, "model_fields", {})
        for key in fields:
            assert f"\n{key} = " in text or f"\n# {key} = " in text, (name, key)
    given = parse_study(text)
    for name in ("backend", "method"):
        assert getattr(given, name) == type(getattr(given, name))()
    # The range is one that learns; the comment beside it states the default.
    default = type(given.feature_map)(qubits=4)
    assert given.feature_map.model_copy(update={"range": default.range}) == default
    assert f"# {default.range}." in text
    assert given.budget.test_shots is None
    on = "\n".join(
        line[2:] if line.startswith(("# target", "# features", "# learner", "# rate")) else line
        for line in text.splitlines()
    )
    assert parse_study(on).method.learner == DEFAULT_LEARNER
    assert np.isclose(default.range[1], np.pi)


def test_states_that_fit_no_memory_are_refused_before_they_are_computed(tmp_path):
    text = small(backend="statevector").replace("qubits = 2", "qubits = 24")
    path = write_study(tmp_path, text.replace('"moons"', '"breast-cancer"').replace("= 12", "= 40"))
    refused(path, "24 qubits: the states of 46 points would take .* GiB")
