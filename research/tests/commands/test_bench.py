"""`aqka bench`."""

from tests.cli.in_process import call


def test_bench_runs_in_a_clone_and_says_so_elsewhere(tmp_path, monkeypatch, capsys):
    ran = []

    def make(command, cwd, check):
        ran.append((command, cwd))
        return type("Done", (), {"returncode": 7})

    monkeypatch.setattr("subprocess.run", make)
    assert call(monkeypatch, capsys, "bench")[0] == 7  # make's own exit code
    [(command, clone)] = ran
    assert command == ["make", "bench"]
    assert (clone / "Makefile").is_file()
    monkeypatch.setattr("aqka_research.__file__", str(tmp_path / "a" / "b" / "c" / "__init__.py"))
    code, _, told = call(monkeypatch, capsys, "bench")
    assert code == 2
    assert "make bench" in told
