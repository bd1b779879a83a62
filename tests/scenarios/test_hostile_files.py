"""Study files, tables and run directories made by strangers: each ends in a clear error or works.

Every case runs under an alarm (a hang fails), and the process's memory is watched over all of them.
"""

import io
import json
import os
import resource
import signal
import struct
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from aqka import InputError, LedgerError
from aqka._util.files import check_file, inside
from aqka.planning import Quote
from aqka.report.run_page import run_page
from aqka.report.run_report import run_report
from aqka.study._formats import read_arrays
from aqka.study.carry_out import carry_out, resume
from aqka.study.directory import prepare
from aqka.study.new_study import example
from aqka.study.points import encode, load_table
from aqka.study.schema import DataSection, FeatureMapSection, SplitSection, parse_study, read_stored
from aqka.study.store import RunStore
from aqka.study.tables import read_table
from tests.study.helpers import QUICK, progress, section, small, write_study

SECONDS = 120  # of one case, which on a quiet machine takes a fraction of one
MEGABYTES = 400  # that all cases of a test may add to the process
WORDS = (
    *("=cmd|' /C calc'!A0", "<script>alert(1)</script>", "\x1b[2J", "'; DROP TABLE entries; --"),
    *("../../etc/passwd", "/dev/zero", "\u202e\u0000", "a" * 10_000, "🐈" * 50, "NaN", "1e999"),
)
VALUES = (
    *("0", "-1", "1e308", "nan", "inf", "-inf", "9" * 5000, '""', "[]", "{}", "true", "1979-05-27"),
    *("[[[[[[[[1]]]]]]]]", '"x"', "0x7fffffffffffffff", "1_0", "[1, 'a']", "{a = {b = {c = 1}}}"),
)


class TooLong(BaseException):
    """A case did not end."""


class Cases:
    """Runs cases, and counts how they end."""

    def __init__(self):
        self.count = self.refused = 0
        self.ugly = []
        self.before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    @contextmanager
    def case(self):
        """Let through only a refusal in one printable line."""

        def stop(*_):
            raise TooLong

        before = signal.signal(signal.SIGALRM, stop)
        signal.alarm(SECONDS)
        self.count += 1
        try:
            yield
        except (InputError, LedgerError) as error:
            self.refused += 1
            self.ugly += [
                text for text in [str(error)] if not text.isprintable() or len(text) > 1500
            ]
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)

    def told(self, kind, record_property):
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self.before) / 1024
        record_property(
            "summary",
            f"hostile {kind}: {self.count} cases, {self.refused} refused with a clear error, "
            f"{self.count - self.refused} harmless; memory grew by {grown:.0f} MiB",
        )
        assert grown < MEGABYTES
        assert self.ugly == []


@pytest.fixture
def cases():
    return Cases()


def mutate(content, rng):
    """Return bytes with a few changes: flips, cuts, doublings, and bytes that mean something."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 6)):
        place = int(rng.integers(0, max(1, len(data))))
        change = rng.integers(0, 5)
        if change == 0 and data:
            data[place % len(data)] = int(rng.integers(256))
        elif change == 1:
            del data[place : place + int(rng.integers(1, 60))]
        elif change == 2:
            data[place:place] = data[place : place + 40] * int(rng.integers(1, 4))
        elif change == 3:
            data[place:place] = bytes([rng.choice(list(b"\"'[]{}=,;\n\0\xff#.\\"))])
        elif rng.random() < 0.2:
            del data[place:]
    return bytes(data)


def test_study_files(cases, record_property):
    rng = np.random.default_rng(0)
    lines = example().splitlines()
    settings = [k for k, line in enumerate(lines) if "=" in line and not line.startswith("#   ")]
    for _ in range(500):  # any value in any place
        changed = list(lines)
        for k in rng.choice(settings, size=rng.integers(1, 4), replace=False):
            key = changed[k].lstrip("# ").split("=")[0].strip()
            word = WORDS[rng.integers(len(WORDS))]
            value = VALUES[rng.integers(len(VALUES))] if rng.random() < 0.6 else json.dumps(word)
            key = json.dumps(word) if rng.random() < 0.2 else key
            changed[k] = f"{key} = {value}"
        with cases.case():
            parse_study("\n".join(changed))
    for _ in range(300):  # any bytes
        with cases.case():
            parse_study(mutate(example().encode(), rng).decode(errors="replace"))
    for text in (
        *("", "\0", "[" * 30_000, "a = " + "[" * 30_000, "a" + ".a" * 15_000 + " = 1"),
        *("x = 1\n" * 5000, "[data]\n" * 5000, "a = '''" + "x" * 60_000, "a = " + "{b=" * 9000),
        *("'" * 60_000, "#" * 60_000, "\ufeff", "[[data]]\n" * 5000, "a = 0x" + "f" * 50_000),
    ):
        with cases.case():
            parse_study(text)
    assert cases.refused > 500
    cases.told("study files", record_property)


def table_csv(rows=30):
    lines = [f"{k * 0.37:.3f},{(k * 7) % 5},{'yn'[k % 2]}" for k in range(rows)]
    return "\n".join(["a,b,kind", *lines, ""]).encode()


def use(table):
    """Go on as a study would."""
    split, section = SplitSection(train=8, test=4), FeatureMapSection(qubits=2)
    points = encode(table, split, section.range, 2)
    assert np.isfinite(points.train).all()


def test_csv_files(cases, record_property, tmp_path):
    rng = np.random.default_rng(1)
    path = tmp_path / "t.csv"
    base = table_csv()
    for _ in range(300):
        path.write_bytes(mutate(base, rng))
        with cases.case():
            use(read_table(path, section("kind")))
    for k in range(60):  # a strange cell somewhere
        word = [*WORDS, "1e308", "-1e308", "0x10", "1,5", '"', "'"][k % 17]
        cells = base.decode().splitlines()
        row = cells[3].split(",")
        row[k % 3] = word
        cells[3] = ",".join(row)
        path.write_text("\n".join(cells))
        with cases.case():
            use(read_table(path, section("kind")))
    million = ",".join(map(str, range(10**6))).encode()
    whole = (
        b"",
        b"\n\n\n",
        b"\xef\xbb\xbf" + base,  # a byte order mark, which is harmless
        base.replace(b"\n", b"\r\n"),
        base.replace(b",", b";"),
        base.decode().encode("utf-16"),
        b"\0" * 1000,
        million,
        million + b"\n" + million,
        b'a,b,kind\n1,2,"y' + b"x" * 10**6,  # a quote never closed
        b'a,b,kind\n"' + b"\n" * 10**6,
        b"a,b,kind\n" + b"9" * 10**6 + b",1,y\n",
        b"a,b,kind\n1,2\n1,2,3,4\n",
        b"a,a,kind\n1,2,y\n",
        b"kind\n" + b"y\nn\n" * 20,
        b"a,b,kind\n" + b"1,2,y\n" * 40,  # one class
        b"a,b,kind\n" + b"1,2,y\n3,4,n\n" * 600_000,  # too many rows
        b"a,b,kind\n" + b"1,1,y\n1,1,n\n" * 30,  # all points the same
        b"a,b,kind\n" + b"1e308,-1e308,y\n-1e308,1e308,n\n" * 30,
        b"a,b,kind\n" + b"1e-320,1e300,y\n0,1,n\n" * 30,
        b"a,b,c,kind\n" + b"1e308,-1e308,1,y\n-1e308,1e308,1e308,n\n" * 30,
        b"a,b,kind\n" + b"1,2," + b"y" * 5000 + b"\n3,4,n\n",
        b"a,b,kind\n" + b"".join(b"%d,1,label%d\n" % (k, k) for k in range(2000)),
    )
    for content in whole:
        path.write_bytes(content)
        with cases.case():
            use(read_table(path, section("kind")))
    with path.open("wb") as stream:
        stream.truncate(2**40)  # a sparse terabyte
    with cases.case():
        read_table(path, section("kind"))
    assert cases.refused > 200
    cases.told("CSV files", record_property)


def npz_bytes(**arrays):
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def npy_header(descr, shape, fortran=False):
    text = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def zipped(members, method=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return stream.getvalue()


def test_npz_files(cases, record_property, tmp_path):
    rng = np.random.default_rng(2)
    path = tmp_path / "t.npz"
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    base = npz_bytes(X=X, y=y)
    for _ in range(300):
        path.write_bytes(mutate(base, rng))
        with cases.case():
            use(read_table(path, section()))
    for _ in range(100):  # a damaged header in a sound archive
        header = mutate(npy_header("<f8", (30, 3)), rng) + X.tobytes()
        path.write_bytes(zipped([("X.npy", header), ("y.npy", npy_header("<i8", (30,)))]))
        with cases.case():
            use(read_table(path, section()))

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "code-was-run"),)

    objects = io.BytesIO()
    np.save(objects, np.array([Bomb()] * 30, dtype=object), allow_pickle=True)
    strange = [
        *(npz_bytes(X=X), npz_bytes(y=y), npz_bytes(X=X, y=y[:-1]), npz_bytes(X=X[0], y=y)),
        *(
            npz_bytes(X=X.astype(complex), y=y),
            npz_bytes(X=X, y=y * 0.5),
            npz_bytes(X=X * np.nan, y=y),
        ),
        *(npz_bytes(X=X, y=y[:, None]), npz_bytes(X=X[:0], y=y[:0]), npz_bytes(X=X[:, :0], y=y)),
        npz_bytes(X=X, y=np.array(WORDS * 3)[:30]),
        npz_bytes(X=X.astype(">f4"), y=y.astype(">i2")),  # harmless
        npz_bytes(X=np.asfortranarray(X), y=y),  # harmless
        zipped([("X.npy", objects.getvalue()), ("y.npy", objects.getvalue())]),
        zipped([("X.npy", b"\x80\x04cos\nsystem\n(S'true'\ntR."), ("y.npy", b"")]),
        zipped([("X.npy", npy_header("<f8", (10**9, 10**9))), ("y.npy", b"")]),
        zipped([("X.npy", npy_header("<f8", (2**62, 4))), ("y.npy", b"")]),
        zipped([("X.npy", npy_header("<f8", (-30, -3))), ("y.npy", b"")]),
        zipped([("X.npy", npy_header("|V1000000000", (1,))), ("y.npy", b"")]),
        zipped([("X.npy", npy_header("|O", (30, 3)) + bytes(720)), ("y.npy", b"")]),
        zipped([("X.npy", npy_header([("a", "<f8")], (30,)) + bytes(240)), ("y.npy", b"")]),
        zipped([("X.npy", npy_header("<f8", (0,) * 40)), ("y.npy", b"")]),
        zipped([("X.npy", b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535), ("y.npy", b"")]),
        zipped([("X.npy", b"\x93NUMPY\x09\x00" + bytes(100)), ("y.npy", b"")]),
        zipped([("X.npy", bytes(65 * 2**20)), ("y.npy", b"")]),  # 65 MiB in 65 KiB
        zipped([("X.npy", bytes(65 * 2**20))], zipfile.ZIP_BZIP2),
        zipped([(f"{k}.npy", b"") for k in range(2000)]),
        zipped([("../../X.npy", npy_header("<f8", (1,)) + bytes(8))]),
        *(b"", b"PK", b"PK\x05\x06" + bytes(18), b"\x93NUMPY" * 100, base * 2, base[::-1]),
    ]
    # An archive whose directory says less than its data unpack to.
    lying = bytearray(zipped([("X.npy", bytes(10**6)), ("y.npy", b"")]))
    where = lying.rindex(b"PK\x01\x02", 0, lying.rindex(b"PK\x01\x02"))
    lying[where + 24 : where + 28] = struct.pack("<I", 64)
    strange.append(bytes(lying))
    for content in strange:
        path.write_bytes(content)
        with cases.case():
            use(read_table(path, section()))
        with cases.case():
            read_arrays(path)
    assert not (tmp_path / "code-was-run").exists()
    assert cases.refused > 300
    cases.told("npz files", record_property)


def test_parquet_files(cases, record_property, tmp_path):
    import pyarrow
    from pyarrow import parquet

    rng = np.random.default_rng(3)
    path = tmp_path / "t.parquet"
    columns = {"a": rng.normal(size=30), "b": np.arange(30.0), "kind": ["y", "n"] * 15}
    parquet.write_table(pyarrow.table(columns), path)
    use(read_table(path, section("kind")))
    base = path.read_bytes()
    for _ in range(100):
        path.write_bytes(mutate(base, rng))
        with cases.case():
            use(read_table(path, section("kind")))
    for column in (
        [None] * 30,
        [[1, 2]] * 30,
        [{"x": 1}] * 30,
        [b"\xff"] * 30,
        [True, False] * 15,
        list(WORDS * 3)[:30],
        [10**15] * 30,
    ):
        for name in ("a", "kind"):
            parquet.write_table(pyarrow.table(columns | {name: column}), path)
            with cases.case():
                use(read_table(path, section("kind")))
    cases.told("Parquet files", record_property)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    base = tmp_path_factory.mktemp("run")
    path = write_study(base, method=QUICK)
    carry_out(prepare(path), base / "run")
    return base / "run"


def test_run_directories(cases, finished, record_property, tmp_path):
    """Every file of a run damaged in turn, then everything that reads a run."""
    rng = np.random.default_rng(4)
    names = ("study.toml", "data.npz", "results.json", "ledger.sqlite", "predictions/ledger.sqlite")
    original = {name: (finished / name).read_bytes() for name in names}
    run = tmp_path / "run"
    (run / "predictions").mkdir(parents=True)
    for k in range(120):
        for name, content in original.items():
            (run / name).write_bytes(content)
        for extra in run.rglob("*-*"):
            extra.unlink()  # SQLite's side files of the case before
        name = names[k % len(names)]
        (run / name).write_bytes(mutate(original[name], rng))
        with cases.case():
            progress(run)
        with cases.case():
            resume(RunStore(run))
        if k < 40:
            with cases.case():
                run_page(run_report(run))
    for content in (
        *(b"", b"null", b"[]", b"3", b'{"quote": 3}', b'{"quote": {"shots": "x"}}', b"[" * 10**5),
        *(b'{"quote": {"shots": 1e400}}', b'{"results": 3}', b"\xff", b"{" * 10**5),
        original["results.json"].replace(b"1200", b"99999999999999999999"),
        original["results.json"].replace(b"1200", b"-1"),
    ):
        for name in names:
            (run / name).write_bytes(original[name])
        (run / "results.json").write_bytes(content)
        with cases.case():
            progress(run)
        with cases.case():
            read_stored(Quote, RunStore(run).results.get("quote"))
        with cases.case():
            resume(RunStore(run))
    cases.told("run directories", record_property)


@pytest.mark.parametrize(
    "name",
    [
        *("data.npz", "study.toml", "ledger.sqlite", "ledger.lock", "x", "report.html"),
        *("predictions/ledger.sqlite", "new-points/x/ledger.sqlite"),
    ],
)
def test_a_run_directory_with_a_link_is_refused(finished, tmp_path, name):
    secret = tmp_path / "secret"
    secret.write_text("mine")
    run = tmp_path / "run"
    (run / "predictions").mkdir(parents=True)
    (run / "new-points" / "x").mkdir(parents=True)
    for file in ("study.toml", "data.npz", "results.json", "ledger.sqlite"):
        (run / file).write_bytes((finished / file).read_bytes())
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(secret)
    for act in (progress, RunStore):
        with pytest.raises(InputError, match="not a plain file"):
            act(run)
    assert secret.read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["../t.csv", "/etc/passwd.csv", "a/../../t.csv", "link.csv", "dir/t.csv", "\0.csv"]
)
def test_data_cannot_come_from_outside(tmp_path, name):
    base = tmp_path / "study"
    base.mkdir()
    (tmp_path / "t.csv").write_bytes(table_csv())
    (base / "link.csv").symlink_to(tmp_path / "t.csv")
    (base / "dir").symlink_to(tmp_path)
    with pytest.raises(InputError, match=r"leads out of|not a usable path"):
        load_table(DataSection(source=name, target="kind"), base)


@pytest.mark.parametrize("output", ["../out", "/tmp/out", "link/out"])
def test_output_cannot_go_outside(tmp_path, output):
    from aqka.study.directory import output_directory

    base = tmp_path / "study"
    base.mkdir()
    (base / "link").symlink_to(tmp_path)
    path = write_study(base, small().replace('"run"', f'"{output}"'))
    study = parse_study(path.read_text())
    with pytest.raises(InputError, match="leads out of"):
        output_directory(study, path, None)
    assert output_directory(study, path, tmp_path / "mine") == tmp_path / "mine"


def test_a_link_that_stays_inside_is_followed(tmp_path):
    (tmp_path / "t.csv").write_bytes(table_csv())
    (tmp_path / "link.csv").symlink_to("t.csv")
    assert len(load_table(DataSection(source="link.csv", target="kind"), tmp_path).y) == 30
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    with pytest.raises(InputError):
        load_table(DataSection(source="loop.csv", target="kind"), tmp_path)


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(InputError, match="not a regular file"):
        load_table(DataSection(source="t.csv", target="kind"), tmp_path)
    with pytest.raises(InputError, match="not a regular file"):
        check_file(Path("/dev/zero"), 10, "data")
    with pytest.raises(InputError, match="No such file"):
        check_file(inside(tmp_path, "none.csv", "data"), 10, "data")
