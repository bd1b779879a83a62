"""Small files that stand for much: refused while memory stays small.

Each is read in a process of its own that may take no more than some hundred megabytes, so that a
reader which builds first and checks later fails here and harms nothing. These processes are forks
of one that has imported what they need.
"""

import io
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from aqka import MatrixBackend, acquire
from aqka._util.arrays import MAX_PAIRS, MAX_POINTS
from aqka.core.pairs import BlockTable, PairTable
from aqka.errors import InputError
from aqka.runs.head import head_path
from aqka.runs.ledger import LEDGER_NAME, Ledger
from tests.scenarios.test_hostile_files import npy_header, zipped

MEGABYTES = 300
SECONDS = 60
PARENT = f"""
import os, resource, signal, sys, traceback
from pathlib import Path
import pyarrow.compute, pyarrow.parquet
from aqka.errors import InputError, LedgerError
from aqka.report.run_report import run_report
from aqka.runs.export import table_of
from aqka.study._formats import read_arrays
from aqka.study.progress import ProgressReader, RunStore
from aqka.study.schema import DataSection
from aqka.study.tables import read_table

def read(call, path):
    limit = {MEGABYTES} * 2**20
    used = 4096 * int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (used + limit, used + limit))
    signal.alarm({SECONDS})
    try:
        found = eval(call)
    except (InputError, LedgerError) as error:
        return f"refused: {{error}}\\n"
    return f"read: {{found}}\\n"

for line in sys.stdin:
    call, path, answer = eval(line)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            Path(answer).write_text(read(call, Path(path)))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    print(os.waitpid(child, 0)[1], flush=True)
"""


@pytest.fixture(scope="module")
def parent():
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    started = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path), **threads},
    )
    with started:
        yield started
        started.stdin.close()


@pytest.fixture
def read_in_a_child(parent, tmp_path):
    def read(call, path):
        answer = tmp_path / "answer"
        parent.stdin.write(f"{(call, str(path), str(answer))!r}\n")
        parent.stdin.flush()
        assert parent.stdout.readline() == "0\n"
        return answer.read_text()

    return read


@pytest.mark.parametrize("call", ["read_table(path, DataSection(source='t'))", "read_arrays(path)"])
@pytest.mark.parametrize("shape", [(10**9, 0), (10**6 + 1, 0), (2**62, 2**62, 0)])
def test_an_array_with_a_billion_rows_of_nothing(tmp_path, call, shape, read_in_a_child):
    labels = npy_header("<i8", (10**9,))
    path = tmp_path / "t.npz"
    path.write_bytes(zipped([("X.npy", npy_header("<f8", shape)), ("y.npy", labels)]))
    assert path.stat().st_size < 1000
    assert read_in_a_child(call, path).startswith("refused: t.npz is too large")


def test_arrays_of_zeros(tmp_path, read_in_a_child):
    header, zeros = npy_header("<f8", (10**6, 50)), bytes(2**20)
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w", force_zip64=True) as member,
    ):
        member.write(header)
        for _ in range(8 * 50 * 10**6 // len(zeros)):
            member.write(zeros)
        member.write(bytes(8 * 50 * 10**6 % len(zeros)))
    path = tmp_path / "t.npz"
    path.write_bytes(stream.getvalue())
    assert path.stat().st_size < 2**20
    assert "too large" in read_in_a_child("read_table(path, DataSection(source='t'))", path)


def test_points_without_a_feature(tmp_path, read_in_a_child):
    np.savez(tmp_path / "t.npz", X=np.zeros((1000, 0)), y=np.arange(1000) % 2)
    told = read_in_a_child("read_table(path, DataSection(source='t'))", tmp_path / "t.npz")
    assert "at least one column, got shape (1000, 0)" in told


def repeated(value, rows=10**6):
    """Return a column whose one value a Parquet file keeps once."""
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(rows, np.int32)), [value])


@pytest.mark.parametrize("name", ["kind", "a"])
@pytest.mark.parametrize("stored", ["dictionary", "string", "large_string", "binary"])
def test_a_long_text_that_is_stored_once(tmp_path, name, stored, read_in_a_child):
    column = repeated("y" * 4000)
    if stored != "dictionary":
        kind = pyarrow.large_string() if stored == "large_string" else pyarrow.string()
        part = column.slice(0, 10**4).cast(kind)
        part = part.cast(pyarrow.binary()) if stored == "binary" else part
        column = pyarrow.chunked_array([part] * 100)
    columns = {"a": np.zeros(10**6), "kind": np.zeros(10**6)} | {name: column}
    path = tmp_path / "t.parquet"
    # Without statistics, which repeat the value on every page.
    parquet.write_table(pyarrow.table(columns), path, compression="zstd", write_statistics=False)
    assert path.stat().st_size < 30_000
    told = read_in_a_child("read_table(path, DataSection(source='t', target='kind'))", path)
    assert told.startswith("refused: t.parquet is too large")


def test_lists_that_are_stored_once(tmp_path, read_in_a_child):
    lists = pyarrow.array([[1.0] * 1000]).take(pyarrow.array(np.zeros(10**4, np.int32)))
    columns = {"a": lists, "kind": np.arange(10**4) % 2}
    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table(columns), path, compression="zstd")
    told = read_in_a_child("read_table(path, DataSection(source='t', target='kind'))", path)
    assert "too large" in told or "holds list<" in told


def test_a_long_table_of_short_labels_is_read(tmp_path, read_in_a_child):
    rows = 10**5
    columns = {"a": np.arange(rows) * 0.5, "kind": ["yes", "no"] * (rows // 2)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    call = "(lambda t: (len(t.X), float(t.X[-1, 0]), sorted(set(t.y.tolist()))))"
    told = read_in_a_child(
        f"{call}(read_table(path, DataSection(source='t', target='kind')))", tmp_path / "t.parquet"
    )
    assert told == f"read: ({rows}, {rows / 2 - 0.5}, ['no', 'yes'])\n"


def ledger_that_says(directory, **facts):
    acquire(MatrixBackend([[1, 0.5], [0.5, 1]]), [1, -1], 50, directory=directory)
    path = directory / LEDGER_NAME
    with Ledger(path) as ledger:
        first = ledger.read()[0]
    for file in (path, head_path(path)):
        file.unlink()
    fingerprint = {**first.body["fingerprint"], **facts}
    with Ledger(path, write=True) as ledger:
        ledger.append("started", body=first.body | {"fingerprint": fingerprint})


@pytest.mark.parametrize(
    "call", ["ProgressReader(RunStore(path)).look()", "run_report(path)", "table_of(path)"]
)
@pytest.mark.parametrize("points", [65536, MAX_POINTS + 1])
def test_a_ledger_of_more_points_than_fit_memory(tmp_path, call, points, read_in_a_child):
    ledger_that_says(tmp_path / "run", points=str(points))
    told = read_in_a_child(call, tmp_path / "run")
    assert f"n_points must be at most {MAX_POINTS:,}, got {points:,}" in told


def test_tables_refuse_what_their_ledger_could_not_be_read_back_with():
    with pytest.raises(InputError, match="n_points must be at most"):
        PairTable(MAX_POINTS + 1)
    with pytest.raises(InputError, match="take fewer test points at a time"):
        BlockTable(MAX_PAIRS // 1000 + 1, 1000)


def test_states_beyond_the_memory_of_a_process_are_refused_in_words():
    """24 qubits where a process may use 2 GB."""
    code = """
import resource
import numpy as np
from aqka import StatevectorBackend
from aqka.errors import InputError
backend = StatevectorBackend(np.ones((12, 24)))
resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
try:
    backend.states()
except InputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("the states of 12 points of 24 features do not fit into the mem")
