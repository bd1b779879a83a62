"""The constants of a device: their sources, and what is refused."""

import importlib
import math
from dataclasses import replace

import pytest

from aqka import InputError
from aqka.planning.device import HERON
from aqka.planning.split import zz_depth


def test_the_transpiled_zz_map_has_the_depth_and_the_duration_of_the_model():
    providers = importlib.import_module("qiskit_ibm_runtime.fake_provider")
    from qiskit import generate_preset_pass_manager

    from aqka.backends.circuits import fidelity_circuit
    from aqka.backends.feature_maps import built_in_map

    device = providers.FakeFez()
    transpiler = generate_preset_pass_manager(1, backend=device, seed_transpiler=0)
    readout = device.target["measure"][(0,)].duration
    for n_qubits in (2, 4, 12):
        circuit = transpiler.run(fidelity_circuit(built_in_map("zz", n_qubits)))
        # Another release of Qiskit may transpile a little differently.
        assert circuit.depth() == pytest.approx(zz_depth(n_qubits, "pairs"), rel=0.1)
        layers = circuit.estimate_duration(device.target) - readout
        assert layers == pytest.approx(circuit.depth() * HERON.layer_time, rel=0.25)


def test_a_point_runs_the_map_once_and_a_rotation():
    providers = importlib.import_module("qiskit_ibm_runtime.fake_provider")
    from qiskit import generate_preset_pass_manager

    from aqka.backends.circuits import point_circuit
    from aqka.backends.feature_maps import built_in_map

    transpiler = generate_preset_pass_manager(1, backend=providers.FakeFez(), seed_transpiler=0)
    for n_qubits in (2, 4, 6):
        circuit = transpiler.run(point_circuit(built_in_map("zz", n_qubits)))
        expected = zz_depth(n_qubits, "points")
        assert circuit.depth() == pytest.approx(expected, rel=0.1)
        assert expected < 0.6 * zz_depth(n_qubits, "pairs")


def test_constants_have_sources_and_can_be_changed():
    assert set(HERON.sources) == set(HERON.__dataclass_fields__)
    assert all(HERON.sources.values())
    changed = HERON.with_constants({"max_executions": 1e6, "rep_delay": 1e-4})
    assert changed == replace(HERON, max_executions=1_000_000, rep_delay=1e-4)
    with pytest.raises(InputError, match="Did you mean 'rep_delay'"):
        HERON.with_constants({"repdelay": 1e-4})


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"max_executions": 0.5}, "max_executions"),
        ({"max_executions": math.inf}, "max_executions"),
        ({"rep_delay": -1}, "rep_delay must be from 0"),
        ({"layer_time": math.nan}, "layer_time"),
        ({"rep_delay": 0, "execution_overhead": 0}, "cannot both be 0"),
        ({"rep_delay": "fast"}, "must be a number"),
    ],
)
def test_impossible_constants_are_refused(values, words):
    with pytest.raises(InputError, match=words):
        HERON.with_constants(values)
