"""Studies on every backend, with feature maps of every kind."""

import json
from unittest.mock import Mock

import numpy as np
import pytest
from qiskit import qasm3, qpy
from qiskit.circuit import Parameter
from qiskit.providers.fake_provider import GenericBackendV2

from aqka import InputError, StatevectorBackend
from aqka.backends import AerBackend, depolarising_noise
from aqka.report.run_page import collect, write_report
from aqka.runs.export import table_of
from aqka.study.carry_out import carry_out, resume
from aqka.study.directory import prepare
from aqka.study.new_points import predict_new_points
from aqka.study.quoting import study_quote
from aqka.study.store import RunStore
from tests.fake_runtime import FakeRuntime
from tests.study.circuits import encoder, with_map
from tests.study.helpers import QUICK, small, write_study

# Few shots: the fake service simulates every row of a job.
ON_A_SERVICE = {
    "backend": "ibm",
    "extra": 'device = "ibm_x"',
    "budget": "100 shots",
    "test_shots": 4,
    "method": QUICK,
}


def finish(path, **options):
    return carry_out(prepare(path, **options), path.parent / "run").results


def test_the_exact_backends_measure_the_same_kernel(tmp_path):
    """Exploring alone gives each pair some 360,000 shots: five standard deviations are 0.0042."""
    rates = {}
    for name, extra in (("statevector", ""), ("aer", "noise = [0.0, 0.0]")):
        path = write_study(tmp_path / name, backend=name, extra=extra, budget="66000000 shots")
        found = finish(path)
        assert found["results"]["shots"] == 66_000_000
        assert found["results"]["pairs_seen"] == 66
        rates[name] = table_of(path.parent / "run").table.estimate()
    points = RunStore(tmp_path / "aer" / "run").points
    truth = StatevectorBackend(points.train).kernel()[np.triu_indices(12, 1)]
    for name, rate in rates.items():
        assert table_of(tmp_path / name / "run").table.shots.min() > 300_000
        assert np.abs(rate - truth).max() < 0.005


def test_noise_is_in_the_counts(tmp_path):
    path = write_study(
        tmp_path, backend="aer", extra="noise = [0.01, 0.04]", budget="6600000 shots"
    )
    finish(path)
    points = RunStore(tmp_path / "run").points
    noisy = AerBackend(points.train, noise=depolarising_noise(0.01, 0.04)).kernel()
    exact = StatevectorBackend(points.train).kernel()
    upper = np.triu_indices(12, 1)
    measured = table_of(tmp_path / "run").table.estimate()
    # At least 30,000 shots a pair: five standard deviations are below 0.015.
    assert table_of(tmp_path / "run").table.shots.min() > 30_000
    assert np.abs(measured - noisy[upper]).max() < 0.015
    assert np.abs(measured - exact[upper]).max() > 0.05


def test_a_fake_heron_runs_in_this_process(tmp_path):
    path = write_study(tmp_path, backend="ibm", extra='device = "fake_fez"', budget="400 shots")
    found = finish(path)
    assert found["results"]["shots"] == 400
    assert found["quote"]["depth"] > 20  # of the transpiled circuit
    rows = {row["figure"]: row for row in found["quote_versus_actual"]}
    assert rows["shots"] == {"figure": "shots", "quoted": 400, "actual": 400}
    assert rows["QPU seconds"]["quoted"] > 0
    assert rows["QPU seconds"]["actual"] is None  # a fake device uses none


def test_a_study_on_tiles_is_quoted_and_run_on_them(tmp_path, monkeypatch):
    line = [[k, k + 1] for k in range(7)]
    device = FakeRuntime(tmp_path / "service", GenericBackendV2(8, coupling_map=line, seed=1))
    extra = 'device = "ibm_x"\ntiles = "auto"'
    path = write_study(tmp_path, **ON_A_SERVICE | {"extra": extra})
    with monkeypatch.context() as patch:  # tiles are chosen by the device alone
        patch.setattr("aqka.study.backends.ibm_device", lambda _: device.target)
        assert study_quote(prepare(path)).tiles == 3
    monkeypatch.setattr("aqka.study.backends.ibm_device", lambda _: device)
    found = finish(path)
    assert found["results"]["shots"] == 100
    assert found["quote"]["tiles"] == 3
    shapes = [np.load(bits).shape for bits in (tmp_path / "service").glob("*.npy")]
    executions = sum(rows * shots for rows, shots, _ in shapes)
    used = found["actual"]["shots"] + found["actual"]["test_shots"]
    assert used / 3 <= executions < used / 2


@pytest.mark.parametrize(
    ("backend", "tiles", "words"),
    [
        ("ibm", '"many"', "tiles"),
        ("ibm", "0", "tiles"),
        ("ibm", "true", "tiles"),
        ("statevector", '"auto"', "tiles is for the backend 'ibm'"),
    ],
)
def test_bad_tiles_in_a_study(tmp_path, backend, tiles, words):
    path = write_study(tmp_path, backend=backend, extra=f"tiles = {tiles}")
    with pytest.raises(InputError, match=words):
        prepare(path)


def test_files_and_code_give_the_same_run_as_each_other(tmp_path):
    tables = {}
    for name in ("map.qpy", "map.qasm", "mine:encoder"):
        directory = tmp_path / name[-4:]
        path = with_map(directory, name)
        if name == "map.qpy":
            with (directory / name).open("wb") as stream:
                qpy.dump(encoder(), stream)
        elif name == "map.qasm":
            circuit = encoder()
            named = dict(zip(circuit.parameters, map(Parameter, ("a", "b")), strict=True))
            (directory / name).write_text(qasm3.dumps(circuit.assign_parameters(named)))
        else:
            source = "from tests.study.test_backends import encoder\n"
            (directory / "mine.py").write_text(source)
            with pytest.raises(InputError, match="add --allow-code"):
                prepare(path)
        finish(path, allow_code=":" in name)
        tables[name] = table_of(directory / "run").table
        again = RunStore(directory / "run").prepared()  # needs neither the file nor the flag
        kernel = StatevectorBackend(again.points.train, again.circuit).kernel()
        expected = StatevectorBackend(again.points.train, encoder()).kernel()
        assert np.allclose(kernel, expected)
        resumed = resume(RunStore(directory / "run")).results
        assert resumed["results"]["shots"] == 1200
    assert np.array_equal(tables["map.qpy"].shots, tables["mine:encoder"].shots)


class Killed(BaseException):
    """The process dies here."""


def test_predictions_on_hardware_survive_a_crash_without_a_second_job(tmp_path, monkeypatch):
    service = FakeRuntime(tmp_path / "service", seconds=3.0)
    monkeypatch.setattr("aqka.study.backends.ibm_device", lambda _: service)
    path = write_study(tmp_path, **ON_A_SERVICE)
    accept, submitted = service.accept, []

    def dying(tags, *given):
        job = accept(tags, *given)
        submitted.append(tags[0])
        if "predict" in tags[0]:
            raise Killed  # after the service took the job, before the ticket is stored
        return job

    service.accept = dying
    with pytest.raises(Killed):
        finish(path)
    before = service.submissions
    service.accept = accept
    found = resume(RunStore(tmp_path / "run")).results
    jobs = [job.record["tags"][0] for job in service.jobs([])]
    assert len(set(jobs)) == len(jobs)  # the lost one was found by its tag, none was sent twice
    assert found["actual"]["qpu_seconds"] == 3.0 * (before - 1)
    assert found["actual"]["test_qpu_seconds"] == 3.0 * (len(jobs) - before + 1)
    rows = {row["figure"]: row["actual"] for row in found["quote_versus_actual"]}
    assert rows["QPU seconds"] == found["actual"]["qpu_seconds"]


def test_lost_prediction_jobs_are_asked_for_again(tmp_path, monkeypatch):
    service = FakeRuntime(tmp_path / "service")
    monkeypatch.setattr("aqka.study.backends.ibm_device", lambda _: service)
    path = write_study(tmp_path, **ON_A_SERVICE)
    accept, lost = service.accept, []

    def losing(tags, *given):
        if "predict" in tags[0] and not lost:
            lost.append(tags[0])
            service.next_job = "ERROR"
        return accept(tags, *given)

    service.accept = losing
    with pytest.warns(RuntimeWarning, match="round 0 failed"):
        found = finish(path)
    assert lost
    assert found["results"]["accuracy"] is not None


def test_a_token_is_never_written(tmp_path, monkeypatch, capfd):
    token = "marker-token-91c4e7"
    monkeypatch.setenv("QISKIT_IBM_TOKEN", token)

    class Service(FakeRuntime):
        secret = token

        def __repr__(self):
            return f"Service({token})"

    service = Service(tmp_path / "service")
    monkeypatch.setattr("aqka.study.backends.ibm_device", lambda _: service)
    path = write_study(tmp_path / "ok", **ON_A_SERVICE)
    service.next_job = "reply lost"
    monkeypatch.setattr("aqka.runs.spend.time", Mock())
    finish(path)
    run = path.parent / "run"
    write_report(collect([run]), run / "report.html")
    np.savez(tmp_path / "new.npz", X=np.zeros((2, 2)))
    predict_new_points(run, tmp_path / "new.npz", 5)
    for extra, words in (
        (f'token = "{token}"', "holds the token of QISKIT_IBM_TOKEN"),
        ('token = "another-secret"', "has the key 'token'"),
        ('api_key = "another-secret"', "has the key 'api_key'"),
        ('password = "another-secret"', "save the account once"),
        ('tokn = "another-secret"', "unknown key 'tokn'"),
    ):
        wrong = write_study(tmp_path / "wrong", backend="ibm", extra=extra)
        with pytest.raises(InputError, match=words) as told:
            prepare(wrong)
        assert token not in str(told.value)
        assert "another-secret" not in str(told.value)
        wrong.unlink()
    shown = capfd.readouterr()
    assert token not in shown.out + shown.err
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {"results.json", "study.toml", "ledger.sqlite", "report.html"} <= {
        file.name for file in written
    }
    for file in written:
        assert token.encode() not in file.read_bytes(), file


def test_an_account_that_is_refused_is_said_without_its_token(tmp_path, monkeypatch):
    import qiskit_ibm_runtime

    token = "marker-token-91c4e7"

    def refuse(**_):
        raise qiskit_ibm_runtime.exceptions.IBMNotAuthorizedError(f"401 for {token}")

    monkeypatch.setattr(qiskit_ibm_runtime, "QiskitRuntimeService", refuse)
    path = write_study(tmp_path, backend="ibm", extra='device = "ibm_fez"')
    with pytest.raises(InputError, match=r"IBMNotAuthorizedError.*save_account") as told:
        finish(path)
    assert token not in str(told.value)
    assert told.value.__suppress_context__  # nor in a chained traceback


def test_labels_are_inert_in_results(tmp_path):
    lines = [f"{k},{k % 5},{('<script>alert(1)</script>', '=cmd()')[k % 2]}" for k in range(40)]
    (tmp_path / "data.csv").write_text("\n".join(["a,b,kind", *lines]))
    text = small().replace('"moons"', '"data.csv"\ntarget = "kind"')
    found = finish(write_study(tmp_path, text))
    assert found["results"]["classes"] == ["<script>alert(1)</script>", "=cmd()"]
    stored = (tmp_path / "run" / "results.json").read_text()
    assert json.loads(stored)["results"]["classes"] == found["results"]["classes"]
    assert stored.isascii()


def test_a_resumed_run_stays_on_its_device(tmp_path, monkeypatch):
    """The least busy device may be another one by then."""
    asked = []

    def device(section):
        asked.append(section.device)
        return FakeRuntime(tmp_path / "service")

    monkeypatch.setattr("aqka.study.backends.ibm_device", device)
    path = write_study(tmp_path, **ON_A_SERVICE | {"extra": ""})
    finish(path)
    resume(RunStore(tmp_path / "run"))
    name = FakeRuntime(tmp_path / "service").target.name
    assert asked == [None, name]
