import numpy as np
import pytest
import qiskit_ibm_runtime
from qiskit import QuantumCircuit
from qiskit.circuit.library import zz_feature_map
from qiskit.quantum_info import Operator
from qiskit_ibm_runtime import fake_provider

from aqka import InputError, StatevectorBackend
from aqka.backends._bulk.gates import evaluate
from aqka.backends._jobs.ibm import with_fractional_gates
from aqka.backends._jobs.transpile import fractional_angles, in_fractional_gates
from aqka.backends.circuits import circuit_digest
from aqka.backends.feature_maps import built_in_map
from aqka.backends.runtime import RuntimeBackend
from aqka.backends.tiles import TileRule
from aqka.core import ShotPlan


def test_a_circuit_that_must_be_routed_is_transpiled_the_same_again():
    device, crossing = fake_provider.FakeFez(), zz_feature_map(6, entanglement="full")
    made = [RuntimeBackend(device, np.ones((2, 6)), crossing).circuit for _ in range(3)]
    assert len({circuit_digest(circuit) for circuit in made}) == 1


def line(n_qubits):
    circuit = built_in_map("zz", n_qubits)
    circuit.rzz(2.5, 0, 1)  # the same for all points
    return circuit


def test_fractional_gates_are_the_same_circuit_within_their_angles():
    plain = line(4)
    hidden, (first, *_) = QuantumCircuit(2), plain.parameters
    hidden.rxx(first, 0, 1)
    hidden.cp(2 * first, 0, 1)
    plain.append(hidden.to_instruction(), [1, 2])  # a transpiler would make RZZ of any angle of it
    folded, own, angles = in_fractional_gates(plain)
    assert folded.count_ops()["rzz"] == 2 * 3 + 1 + 2
    assert {step.name for step in folded.data if len(step.qubits) > 1} == {"rzz"}
    rows = np.random.default_rng(0).uniform(-7, 7, size=(4, 4))
    extra = fractional_angles(evaluate(angles, list(plain.parameters), rows).T)
    assert extra[:, 2::3].min() >= 0
    assert extra[:, 2::3].max() <= np.pi / 2
    for row, more in zip(rows, extra, strict=True):
        values = dict(zip([*plain.parameters, *own], [*row, *more], strict=True))
        bound = folded.assign_parameters(values, strict=False)
        assert Operator(bound).equiv(Operator(plain.assign_parameters(row)))


def test_a_device_with_fractional_gates_runs_half_the_two_qubit_gates():
    device, X = (
        fake_provider.FakeFractionalBackend(),
        np.random.default_rng(1).uniform(0, 3, (4, 3)),
    )
    usual, fractional = (
        RuntimeBackend(device, X, options={"fractional_gates": on}) for on in (False, True)
    )
    assert fractional.circuit.count_ops()["rzz"] == 2 * 2 * 2
    assert usual.circuit.count_ops()["cx"] == 2 * 2 * 2 * 2
    plan = ShotPlan([0, 0, 1], [0, 1, 2], [4000] * 3)
    hits = fractional.collect(fractional.submit(plan, "t")) / 4000
    exact = StatevectorBackend(X).kernel()[plan.rows, plan.cols]
    assert np.all(np.abs(hits - exact) < 0.3 * exact + 0.05)
    assert hits[0] > 0.7
    rule = TileRule(2, worst=0, mean=0, idle_neighbours=False)
    tiled = RuntimeBackend(device, X[:, :2], tiles=rule, options={"fractional_gates": True})
    hits = tiled.collect(tiled.submit(ShotPlan([0], [0], [2000]), "t"))
    assert hits[0] > 0.75 * 2000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"twirling": {"enable_gates": True}}, "options.twirling.enable_gates does not go with"),
        ({"dynamical_decoupling": {"enable": True}}, "dynamical_decoupling.enable does not go"),
        ({"fractional_gates": "yes"}, "options.fractional_gates must be true or false"),
        (
            {},
            r"fake_manila has no fractional gates \(rzz, rx\): leave options.fractional_gates out",
        ),
    ],
)
def test_what_does_not_go_with_fractional_gates_is_refused(options, words):
    chosen = {"fractional_gates": True} | options
    with pytest.raises(InputError, match=words):
        RuntimeBackend(fake_provider.FakeManilaV2(), np.ones((2, 2)), options=chosen)


def test_ibms_service_is_asked_for_the_device_with_fractional_gates(monkeypatch):
    class Device:
        name, _instance = "ibm_fez", "crn:of-the-device"
        target = fake_provider.FakeManilaV2().target

        @property
        def service(self):
            return self

        def backend(self, name, *, instance, use_fractional_gates):
            asked = name, instance, use_fractional_gates
            assert asked == ("ibm_fez", "crn:of-the-device", True)
            return fake_provider.FakeFractionalBackend()

    monkeypatch.setattr(qiskit_ibm_runtime, "IBMBackend", Device)
    assert with_fractional_gates(Device()).name == "fake_fractional"
