"""Any Qiskit sampler and any PennyLane device from a study file, and IBM's options."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

from aqka import InputError, StatevectorBackend
from aqka.report.run_report import run_report
from aqka.runs.export import table_of
from aqka.study.carry_out import Watcher, carry_out, resume
from aqka.study.directory import prepare
from aqka.study.store import RunStore
from tests.cli.in_process import call
from tests.fake_runtime import FakeRuntime
from tests.study.helpers import QUICK, write_study

LAB = """
import numpy as np
from qiskit.primitives import BackendSamplerV2, StatevectorSampler
from qiskit.transpiler import generate_preset_pass_manager
from qiskit_aer import AerSimulator

PLACE = dict(
    n_qubits=3,
    coupling_map=[[0, 1], [1, 0], [1, 2], [2, 1]],
    basis_gates=["rz", "sx", "x", "cz"],
)
DEVICE = AerSimulator(**PLACE)

class Qpu(AerSimulator):
    pass

def seeded(seed):
    return StatevectorSampler(seed=np.random.default_rng(seed))

def sampler():
    return BackendSamplerV2(backend=DEVICE)

def cloud():
    return BackendSamplerV2(backend=Qpu(**PLACE))

def level_3():
    return generate_preset_pass_manager(3, backend=DEVICE, seed_transpiler=0)

def broken():
    raise RuntimeError("no such lab")

def amazon():
    from qiskit_braket_provider import BraketLocalBackend, BraketSampler

    return BraketSampler(BraketLocalBackend())

def device(seed):
    import pennylane as qml

    return qml.device("default.qubit", wires=2, seed=seed)

def plugin(seed):
    made = device(seed)
    type(made).short_name = property(lambda self: "vendor.qpu")
    return made
"""


def write(tmp_path, name, extra, **settings):
    chosen = {"backend": name, "extra": extra, "budget": "660 shots", "test_shots": 1}
    chosen |= {"rounds": 1}
    path = write_study(tmp_path, method=QUICK, **chosen | settings)
    (tmp_path / "lab.py").write_text(LAB)
    return path


def finish(path):
    return carry_out(prepare(path, allow_code=True), path.parent / "run")


def check_kernel(run):
    """The hits fit the exact kernel: chi-square of 66 pairs, beyond five standard deviations."""
    table = table_of(run).table
    exact = StatevectorBackend(RunStore(run).points.train).kernel()[np.triu_indices(12, 1)]
    spread = table.shots * exact * (1 - exact)
    assert np.all(table.shots > 0)
    chi_square = np.sum((table.hits - table.shots * exact) ** 2 / spread)
    assert chi_square < 66 + 5 * np.sqrt(2 * 66 * 4)  # rare outcomes have a longer tail


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("sampler", 'device = "lab:seeded"'),
        (
            "sampler",
            'device = "lab:sampler"\n'
            "transpile = { optimization_level = 3, initial_layout = [2, 1] }",
        ),
        ("sampler", 'device = "lab:sampler"\ntranspile.pass_manager = "lab:level_3"'),
        ("pennylane", 'device = "default.qubit"'),
        ("pennylane", 'device = "lab:device"'),
        pytest.param(
            "sampler",
            'device = "lab:amazon"',
            marks=pytest.mark.skipif(
                find_spec("qiskit_braket_provider") is None,
                reason="qiskit-braket-provider needs another cloudpickle than Dask",
            ),
        ),
    ],
)
def test_the_kernel_is_the_same_whoever_runs_the_shots(tmp_path, name, extra):
    """Simulators do not ask, and a resumed run needs the code and the flag again."""
    path = write(tmp_path, name, extra)
    asked = []
    watcher = Watcher(confirm=lambda *_: asked.append(1))
    found = carry_out(prepare(path, allow_code=True), tmp_path / "run", watcher).results
    assert (found["results"]["shots"], asked) == (660, [])
    check_kernel(tmp_path / "run")
    run = tmp_path / "run"
    if "lab:" in extra:
        with pytest.raises(InputError, match=r"would run code of that module.*--allow-code"):
            RunStore(run).prepared()
    again = resume(RunStore(run), allow_code=True).results
    assert again["results"] == found["results"]
    assert run_report(run).table.total == 660  # a report needs no code


def test_a_circuit_of_any_kind_runs_on_a_pennylane_device():
    """Every gate of the table, against Qiskit's own statevectors."""
    from qiskit import QuantumCircuit
    from qiskit.circuit import ParameterVector

    from aqka.backends import PennylaneBackend
    from aqka.backends._qml import GATES, as_pennylane_function

    x = ParameterVector("x", 2)
    circuit = QuantumCircuit(3)
    for position, gate in enumerate(sorted(GATES)):
        method = getattr(circuit, gate)
        qubits = [position % 3, (position + 1) % 3]
        angles = [x[position % 2] + 0.3 * position]
        takes = {"rx": 1, "ry": 1, "rz": 1, "p": 1}
        pairs = {"cx": 0, "cz": 0, "swap": 0, "cp": 1, "rzz": 1, "rxx": 1, "ryy": 1}
        if gate in pairs:
            method(*angles[: pairs[gate]], *qubits)
        else:
            method(*angles[: takes.get(gate, 0)], qubits[0])
    circuit.sdg(0)
    circuit.u(x[0], 0.2, 0.7, 1)
    points = np.random.default_rng(0).uniform(0, 3, (4, 2))
    exact = StatevectorBackend(points, circuit).kernel()
    by_pennylane = StatevectorBackend(points, as_pennylane_function(circuit)).kernel()
    assert np.allclose(by_pennylane, exact, atol=1e-9)
    assert PennylaneBackend(points, circuit, "default.qubit").shape == (4, 4)


@pytest.mark.parametrize(
    ("name", "extra", "words"),
    [
        ("sampler", "", "device is missing: 'module:function'"),
        ("pennylane", "", "device is missing: such as 'default.qubit'"),
        ("sampler", 'device = "lab"', "device is missing"),
        ("statevector", 'device = "lab:sampler"', "device is for the backend"),
        ("aer", "options = {}", "options is for the backend 'ibm'"),
        ("aer", "transpile.optimization_level = 2", "is for the backend 'ibm' or 'sampler'"),
        (
            "sampler",
            'device = "lab:sampler"\n'
            'transpile = { pass_manager = "lab:level_3", optimization_level = 2 }',
            "line 13: backend.transpile: pass_manager takes the place of",
        ),
        ("sampler", 'device = "lab:broken"', "backend.device failed: RuntimeError: no such lab"),
        ("sampler", 'device = "lab:nothing"', "has no attribute 'nothing'"),
        ("sampler", 'device = "lab:LAB"', "has no attribute|must name a function"),
        ("sampler", 'device = "lab:np"', "must name a function, got module"),
        ("sampler", 'device = "nowhere:sampler"', "ModuleNotFoundError"),
        (
            "sampler",
            'device = "lab:sampler"\ntranspile.initial_layout = [0, 0]',
            "2 different qubits",
        ),
        ("sampler", 'device = "lab:sampler"\ntranspile.initial_layout = [0, 3]', "from 0 to 2"),
        ("sampler", 'device = "lab:seeded"\ntranspile.optimization_level = 3', "need a backend"),
        (
            "sampler",
            'device = "lab:sampler"\ntranspile.pass_manager = "lab:sampler"',
            "backend.transpile.pass_manager must make a qiskit PassManager, got BackendSamplerV2",
        ),
        ("pennylane", 'device = "default.quibt"', "device 'default.quibt' cannot be made"),
        ("ibm", 'device = "fake_manila"\noptions.max_executon_time = 3', "max_execution_time"),
        (
            "ibm",
            'device = "fake_manila"\noptions.dynamical_decoupling.enabel = true',
            "unknown option 'dynamical_decoupling.enabel'.*Did you mean 'enable'",
        ),
        ("ibm", 'options.mode = "sesion"', "unknown options.mode.*Did you mean 'session'"),
        ("ibm", "options.account = 3", "options.account must be text"),
        ("ibm", "transpile.level = 3", "unknown key 'level' in .backend.transpile.. Known: optim"),
        ("ibm", 'device = "fake_manila"\noptions.max_execution_time = 0', "from 1 to 10,800"),
        (
            "ibm",
            'device = "fake_manila"\ntranspile.optimization_level = 4',
            "less than or equal to 3",
        ),
        ("ibm", 'device = "fake_manila"\ntranspile.initial_layout = [1, 9]', "from 0 to 4"),
    ],
)
def test_mistakes_are_named_before_anything_runs(tmp_path, name, extra, words):
    with pytest.raises(InputError, match=words):
        finish(write(tmp_path, name, extra))
    assert not (tmp_path / "run").exists()


def test_whoever_may_cost_money_is_asked_for(tmp_path, monkeypatch, capsys):
    for name, extra in (
        ("sampler", 'device = "lab:cloud"'),
        ("pennylane", 'device = "lab:plugin"'),
    ):
        path = write(tmp_path / name, name, extra)
        code, _, told = call(monkeypatch, capsys, "run", path, "--allow-code")
        assert code == 2
        assert "may cost money" in told
        assert not (path.parent / "run").exists()


OPTIONS = """device = "ibm_x"
transpile = { optimization_level = 3, initial_layout = [3, 4] }
[backend.options]
account = "work"
mode = "batch"
max_execution_time = 300
dynamical_decoupling = { enable = true, sequence_type = "XY4" }
twirling = { enable_gates = true }
"""


def test_ibms_options_reach_its_service(tmp_path, monkeypatch):
    """The account, the layout, the mode, and what its sampler is made with."""
    import qiskit_ibm_runtime

    from aqka.backends import runtime
    from aqka.study import backends

    asked, service = {}, FakeRuntime(tmp_path / "service")

    class Service:
        def __init__(self, **given):
            asked["account"] = given

        def backend(self, name):
            return service

    def service_of(backend, options):
        asked["options"] = options
        return backend

    monkeypatch.setattr(qiskit_ibm_runtime, "QiskitRuntimeService", Service)
    monkeypatch.setattr(runtime, "_service_of", service_of)
    prepared = prepare(write(tmp_path, "ibm", OPTIONS))
    made = backends.make_backends(prepared)
    with made.train:
        assert [mode.name for mode in service.modes] == ["batch"]
    assert asked["account"] == {"name": "work"}
    assert asked["options"]["max_execution_time"] == 300
    assert not {"account", "mode"} & asked["options"].keys()
    assert asked["options"]["twirling"] == {"enable_gates": True}
    circuit = made.train.circuit
    measured = [circuit.find_bit(step.qubits[0]).index for step in circuit.data if step.clbits]
    assert sorted(measured) == [3, 4]
    assert json.dumps(prepared.study.backend.options)  # plain values
