"""What is wrong with a study file, in words; more of it in tests/scenarios/test_newcomers.py."""

import pytest
from pydantic import ValidationError

from aqka.errors import InputError
from aqka.study._mistakes import TOKEN_VARIABLE, explain, known_name, refuse_secrets
from aqka.study.schema import Study


def explained(content, text):
    with pytest.raises(ValidationError) as error:
        Study.model_validate(content)
    return explain(error.value, Study, text, "study.toml")


def test_a_key_in_the_wrong_table_is_sent_home():
    text = '[data]\nsource = "moons"\nqubits = 2\n[budget]\ntrain = "100 shots"\n'
    words = explained({"data": {"source": "moons", "qubits": 2}, "budget": {"train": "9"}}, text)
    assert "line 3: unknown key 'qubits' in [data]." in words
    assert "It belongs in [feature_map]." in words


def test_a_name_that_is_not_known_gets_the_nearest():
    assert known_name("zz", ["zz", "z"], "map") == "zz"
    with pytest.raises(ValueError, match=r"unknown map 'zzz'\. Did you mean 'zz'\? Known: zz, z"):
        known_name("zzz", ["zz", "z"], "map")


def test_secrets_are_refused_however_deep(monkeypatch):
    for content in ({"api_key": 1}, {"backend": {"Token": "x"}}, {"a": [{"password": 1}]}):
        with pytest.raises(InputError, match="so no secret belongs there"):
            refuse_secrets("", content, "study.toml")
    monkeypatch.setenv(TOKEN_VARIABLE, "0123456789")
    with pytest.raises(InputError, match=f"holds the token of {TOKEN_VARIABLE}"):
        refuse_secrets("note = '0123456789'", None, "study.toml")
    refuse_secrets("note = '987654321'", {"note": "987654321"}, "study.toml")
