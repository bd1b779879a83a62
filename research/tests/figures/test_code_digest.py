"""The digest changes with the code a page uses, and with nothing else."""

import pytest

from aqka_research.figures import code_digest as digests


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose module a uses b through the package's __init__; c is used by nobody."""
    files = {
        "__init__": 'from toy.b import f\nfrom toy.c import g\n"""Text."""\n',
        "a": "from toy import f\n",
        "b": 'def f():\n    """Say one."""\n    return 1  # a comment\n',
        "c": "def g():\n    return 2\n",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(digests, "ROOTS", {"toy": tmp_path})
    for cached in (digests._tree, digests._code, digests._uses):
        cached.cache_clear()
    yield tmp_path
    for cached in (digests._tree, digests._code, digests._uses):
        cached.cache_clear()


def digest_after(package, name, text):
    (package / f"{name}.py").write_text(text)
    for cached in (digests._tree, digests._code, digests._uses):
        cached.cache_clear()
    return digests.code_digest(["toy.a"])


def test_a_name_that_a_package_passes_on_leads_to_its_home(package):
    assert digests.modules_used(["toy.a"]) == {"toy.a", "toy.b"}
    assert digests.modules_used(["toy"]) == {"toy", "toy.b", "toy.c"}


def test_prose_and_code_that_is_not_used_change_nothing(package):
    before = digests.code_digest(["toy.a"])
    assert digest_after(package, "b", "def f():\n    return 1\n") == before
    assert digest_after(package, "c", "def g():\n    return 3\n") == before
    assert digest_after(package, "b", "def f():\n    return 2\n") != before


def test_imports_in_functions_count_and_those_for_types_do_not(package):
    late = "def f():\n    from toy.c import g\n    return g\n"
    digest_after(package, "b", late)
    assert "toy.c" in digests.modules_used(["toy.a"])
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from toy.c import g\n"
    digest_after(package, "b", typed + "f = 1\n")
    assert "toy.c" not in digests.modules_used(["toy.a"])


def test_real_pages_depend_on_what_they_run():
    used = digests.modules_used(["aqka_research.compare.total_page"])
    assert {"aqka.estimates.states", "aqka.learners.ridge", "aqka_research.suite"} <= used
    assert "aqka.allocators.aqka" in digests.modules_used(["aqka_research.compare.page"])
    assert not any(name.startswith(("aqka.serve", "aqka.report")) for name in used)
