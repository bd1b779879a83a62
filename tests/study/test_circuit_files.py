"""Circuit files from anyone."""

import pytest
from qiskit import QuantumCircuit

from aqka import InputError
from aqka.study.directory import prepare
from tests.study.circuits import encoder, qpy_bytes, with_map


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("m.qpy", b"", "not a QPY file"),
        ("m.qpy", b"\x80\x04\x95 pickle", "not a QPY file"),
        ("m.qpy", b"QISKIT\x0a" + bytes(40), "QPY version 10 is too old to be read safely"),
        ("m.qpy", b"QISKIT\xff" + bytes(40), "not a usable QPY file"),
        ("m.qpy", qpy_bytes([encoder(), encoder()]), "holds 2 circuits"),
        ("m.qpy", qpy_bytes(encoder())[:-40], "not a usable QPY file"),
        ("m.qpy", qpy_bytes(QuantumCircuit(60)), "has 60 qubits"),
        ("m.qasm", b"OPENQASM 3; qubit[2] q; h q[", "not a usable OpenQASM 3 file"),
        ("m.qasm", b"\xff\xfe", "not a usable OpenQASM 3 file"),
        ("m.qasm", b'OPENQASM 3; include "../../etc/passwd";', "not a usable OpenQASM 3 file"),
        ("m.qasm", b"OPENQASM 3; qubit[99999999] q;", "cannot be read within|qubits|not a usable"),
        ("m.qasm", b"(" * 20_000, "not a usable OpenQASM 3 file|cannot be read within"),
        ("m.qasm", b"/" * 2**21, "the most is"),
    ],
)
def test_strange_circuit_files_are_refused(tmp_path, name, content, words, monkeypatch):
    monkeypatch.setattr("aqka.study.circuit_files.CPU_SECONDS", 1)
    path = with_map(tmp_path, name)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        prepare(path)


def test_a_circuit_that_unfolds_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("aqka.study.circuit_files.CPU_SECONDS", 1)
    lines = ['OPENQASM 3; include "stdgates.inc"; input float a;', "gate g0(t) q { rx(t) q; }"]
    lines += [f"gate g{k}(t) q {{ g{k - 1}(t) q; g{k - 1}(t) q; }}" for k in range(1, 40)]
    (tmp_path / "m.qasm").write_text("\n".join([*lines, "qubit q; g39(a) q;"]))
    with pytest.raises(InputError, match=r"unfolds to more than|cannot be read within"):
        prepare(with_map(tmp_path, "m.qasm"))


def test_a_circuit_that_takes_for_ever_to_read_is_given_up(tmp_path, monkeypatch):
    (tmp_path / "m.qpy").write_bytes(qpy_bytes(encoder()))
    monkeypatch.setattr("aqka.study.circuit_files.WALL_SECONDS", 0.01)
    with pytest.raises(InputError, match="takes too long to read"):
        prepare(with_map(tmp_path, "m.qpy"))
