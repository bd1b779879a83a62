from aqka_research.benchmarks import many_qubits
from aqka_research.figures.page import PageRun


def test_the_page_says_its_seed(tmp_path, monkeypatch):
    monkeypatch.setattr(many_qubits, "in_a_process", lambda *_: (1.0, 0.5))
    run = PageRun(tmp_path / "many-qubits.md", tmp_path, "tiny", 1)
    assert "1.0 s, 0.50 GB" in "\n".join(many_qubits.page(run))
    assert run.seeds == {many_qubits.SEED}
