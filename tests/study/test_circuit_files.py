"""Circuit files from anyone."""

import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import Gate, Parameter
from qiskit.circuit.classical import expr, types

from aqka import InputError
from aqka.study.directory import prepare
from aqka.study.feature_maps import _try_in_a_process, read_circuit
from tests.study.circuits import encoder, qpy_bytes, with_map


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (".qpy", b"", "not a QPY file"),  # a name without an ending
        ("m.qpy", qpy_bytes(encoder())[:-40], "not a usable QPY file"),
        ("m.qasm", b"OPENQASM 3; qubit[2] q; h q[", "not a usable OpenQASM 3 file"),
        ("m.qasm", b"OPENQASM 3; qubit[99999999] q;", "cannot be read within|qubits|not a usable"),
        ("m.qasm", b"(" * 20_000, "not a usable OpenQASM 3 file|cannot be read within"),
        ("m.qasm", b"/" * 2**21, "the most is"),
    ],
)
def test_strange_circuit_files_are_refused(tmp_path, name, content, words, monkeypatch):
    monkeypatch.setattr("aqka.study.feature_maps.CPU_SECONDS", 1)
    path = with_map(tmp_path, name)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        prepare(path)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("m.qpy", b"\x80\x04\x95 pickle", "not a QPY file"),
        ("m.qpy", b"QISKIT\x0a" + bytes(40), "QPY version 10 is too old to be read safely"),
        ("m.qpy", b"QISKIT\xff" + bytes(40), "not a usable QPY file"),
        ("m.qpy", qpy_bytes([encoder(), encoder()]), "holds 2 circuits"),
        ("m.qpy", qpy_bytes(QuantumCircuit(300)), "has 300 qubits"),
        ("m.qasm", b"\xff\xfe", "not a usable OpenQASM 3 file"),
        ("m.qasm", b'OPENQASM 3; include "../../etc/passwd";', "not a usable OpenQASM 3 file"),
    ],
)
def test_those_that_harm_no_process_are_read_in_this_one(
    tmp_path, name, content, words, monkeypatch
):
    monkeypatch.setattr("aqka.study.feature_maps._try_in_a_process", read_circuit)
    path = with_map(tmp_path, name)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        prepare(path)


def test_a_circuit_that_unfolds_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("aqka.study.feature_maps.CPU_SECONDS", 1)
    lines = ['OPENQASM 3; include "stdgates.inc"; input float a;', "gate g0(t) q { rx(t) q; }"]
    lines += [f"gate g{k}(t) q {{ g{k - 1}(t) q; g{k - 1}(t) q; }}" for k in range(1, 40)]
    (tmp_path / "m.qasm").write_text("\n".join([*lines, "qubit q; g39(a) q;"]))
    with pytest.raises(InputError, match=r"unfolds to more than|cannot be read within"):
        prepare(with_map(tmp_path, "m.qasm"))


def test_a_circuit_that_takes_for_ever_to_read_is_given_up(tmp_path, monkeypatch):
    (tmp_path / "m.qpy").write_bytes(qpy_bytes(encoder()))
    monkeypatch.setattr("aqka.study.feature_maps.WALL_SECONDS", 0.01)
    _try_in_a_process.cache_clear()  # another test may have read the same circuit
    with pytest.raises(InputError, match="takes too long to read"):
        prepare(with_map(tmp_path, "m.qpy"))


def started(clbits=0):
    circuit = QuantumCircuit(2, clbits)
    circuit.rx(Parameter("x"), 0)
    return circuit


def measured():
    circuit = started()
    circuit.measure_all()
    return circuit


def reset():
    circuit = started()
    circuit.reset(1)
    return circuit


def initialized():
    circuit = started()
    circuit.initialize([0, 1], 1)
    return circuit


def looped():
    circuit = started()
    with circuit.for_loop(range(3)):
        circuit.h(0)
    return circuit


def repeated_while():
    circuit = started(1)
    with circuit.while_loop((circuit.clbits[0], 1)):
        circuit.h(0)
    return circuit


def decided():
    circuit = started(1)
    with circuit.if_test((circuit.clbits[0], 1)):
        circuit.h(0)
    return circuit


def switched():
    circuit = started(1)
    with circuit.switch(circuit.clbits[0]) as case, case(1):
        circuit.h(0)
    return circuit


def hidden():
    part = QuantumCircuit(1, name="part")
    part.h(0)
    part.reset(0)
    circuit = started()
    circuit.append(part.to_instruction(), [1])
    return circuit


def opaque():
    circuit = started()
    circuit.append(Gate("black_box", 1, []), [1])
    return circuit


def stored():
    circuit = started()
    variable = circuit.add_input("a", types.Float())
    circuit.store(variable, expr.lift(1.0))
    return circuit


def without_parameters():
    circuit = QuantumCircuit(2)
    circuit.h(0)
    return circuit


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (measured, r"instruction 3 \(on qubit 0\) is 'measure'; aqka measures by itself"),
        (reset, r"instruction 2 \(on qubit 1\) is 'reset'; leave it out"),
        (initialized, r"instruction 2 \(on qubit 1\) is 'initialize'; use prepare_state"),
        (looped, "is 'for_loop'; write its gates out"),
        (repeated_while, "is 'while_loop'; write its gates out"),
        (decided, "is 'if_else'; write its gates out"),
        (switched, "is 'switch_case'; write its gates out"),
        (hidden, r"instruction 2 .* of 'part', instruction 2 \(on qubit 1\), is 'reset'"),
        (opaque, "is 'black_box'; use gates that have an inverse"),
        (stored, "is 'store'"),
        (lambda: started(1), "holds 1 classical bits or variables"),
        (without_parameters, "has no parameters, so every point would get the same state"),
    ],
)
def test_circuits_without_an_inverse_or_parameters_are_refused_by_name(make, words):
    with pytest.raises(InputError, match=words):
        read_circuit(qpy_bytes(make()), ".qpy")


HEAD = 'OPENQASM 3; include "stdgates.inc"; '


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("input float a; qubit q; bit c; rx(a) q; c = measure q;", "is 'measure'"),
        ("input float a; qubit q; rx(a) q; reset q;", "is 'reset'"),
        ("input float a; qubit q; for uint i in [0:3] { rx(a) q; }", "is 'for_loop'"),
        ("input float a; qubit q; bit c; rx(a) q; if (c) { x q; }", "is 'if_else'"),
        ("input float a; qubit q; bit c; rx(a) q; while (c) { x q; }", "is 'while_loop'"),
        ("qubit q; x q;", "has no parameters"),
    ],
)
def test_so_are_those_in_openqasm(text, words):
    with pytest.raises(InputError, match=words):
        read_circuit((HEAD + text).encode(), ".qasm")


def test_a_study_says_which_file(tmp_path):
    (tmp_path / "m.qpy").write_bytes(qpy_bytes(measured()))
    with pytest.raises(InputError, match=r"m\.qpy: feature_map must be unitary.* is 'measure'"):
        prepare(with_map(tmp_path, "m.qpy"))


def test_delays_and_barriers_are_fine():
    text = "input float a; qubit q; rx(a) q; delay[10ns] q; barrier q;"
    assert read_circuit((HEAD + text).encode(), ".qasm").num_parameters == 1
    circuit = started()
    circuit.delay(100, 0)
    circuit.barrier()
    circuit.prepare_state([0, 1], 1)
    assert read_circuit(qpy_bytes(circuit), ".qpy").num_parameters == 1
