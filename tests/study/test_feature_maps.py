"""The feature map of a study: built in, from a file, from code."""

import pytest
from qiskit.quantum_info import Statevector

from aqka import InputError
from aqka.backends.feature_maps import built_in_map
from aqka.study.directory import prepare
from aqka.study.feature_maps import as_qpy, read_circuit
from aqka.study.quoting import study_quote
from aqka.study.store import RunStore
from tests.study.circuits import with_map
from tests.study.helpers import QUICK, small, write_study


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("def f(): return 3", "must return a QuantumCircuit, got int"),
        ("def f(): 1 / 0", "failed: ZeroDivisionError"),
        ("", "failed: AttributeError"),
        (
            "from qiskit import QuantumCircuit\n\ndef f(): return QuantumCircuit(2)",
            "has no parameters",
        ),
    ],
)
def test_code_that_gives_no_circuit_is_said(tmp_path, content, words, monkeypatch):
    path = with_map(tmp_path, f"made_{abs(hash(words))}:f")
    (tmp_path / f"made_{abs(hash(words))}.py").write_text(content)
    with pytest.raises(InputError, match=words):
        prepare(path, allow_code=True)


@pytest.mark.parametrize("name", ["zz", "zz-full", "z"])
def test_a_built_in_map_has_a_qubit_per_feature_and_survives_a_file(name):
    circuit = built_in_map(name, 3)
    assert (circuit.num_qubits, circuit.num_parameters) == (3, 3)
    again = read_circuit(as_qpy(circuit), ".qpy")
    values = [0.1, 0.7, 2.0]
    assert Statevector(again.assign_parameters(values)).equiv(
        Statevector(circuit.assign_parameters(values))
    )


def test_repetitions_reach_the_circuit_and_the_run(tmp_path):
    from aqka.study.carry_out import carry_out
    from aqka.study.schema import parse_study

    once = small(rounds=1, method=QUICK).replace("qubits = 2", "qubits = 2\nreps = 1")
    prepared = prepare(write_study(tmp_path / "once", once))
    layers = prepared.circuit.count_ops()
    assert layers["h"] == 2
    twice = prepare(write_study(tmp_path / "twice"))
    assert twice.circuit is None  # the paper's map, which needs no SDK
    assert study_quote(prepared).depth < study_quote(twice).depth
    carry_out(prepared, tmp_path / "run")
    again = RunStore(tmp_path / "run").prepared()
    assert again.circuit.count_ops() == layers
    with pytest.raises(InputError, match="reps is for built-in maps"):
        parse_study(once.replace("reps = 1", 'reps = 1\nmap = "map.qpy"'))
