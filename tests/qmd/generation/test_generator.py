"""No generator is used that nobody has named."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import BadInput
from qmd.generation.generator import NONE, choose
from qmd.vectors.models import GENERATE


@pytest.mark.parametrize(
    ("section", "models", "environ"),
    [
        ({}, {}, {}),
        ({}, {}, {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://localhost:1/v1"}),
        ({"timeout_s": 5}, {}, {}),
        ({}, {"generate": GENERATE}, {}),
        ({}, {}, {"QMD_GENERATE_MODEL": "/models/mine.gguf"}),
        ({}, {}, {"QMD_GENERATE_MODEL": "openai:"}),
    ],
)
def test_none_is_used_that_is_not_named(section: Any, models: Any, environ: Any) -> None:
    found = choose(section, models, environ)
    assert isinstance(found, str)
    assert found.startswith(NONE)
    if models:
        assert GENERATE in found, "what was named and cannot be run is said"


@pytest.mark.parametrize(
    ("section", "models", "environ", "name"),
    [
        ({"provider": "openai"}, {}, {}, "openai/gpt-4.1-mini"),
        ({"base_url": "http://localhost:11434/v1", "model": "qwen3"}, {}, {}, "openai/qwen3"),
        ({"provider": "llm", "model": "m"}, {}, {}, "llm/m"),
        ({}, {"generate": "llm:claude-haiku"}, {}, "llm/claude-haiku"),
        ({}, {}, {"QMD_GENERATE_MODEL": "openai:qwen3:4b"}, "openai/qwen3:4b"),
        ({}, {"generate": "llm:a"}, {"QMD_GENERATE_MODEL": "openai:b"}, "llm/a"),
        ({}, {"generate": GENERATE}, {"QMD_GENERATE_MODEL": "openai:b"}, "openai/b"),
        ({"model": "own"}, {"generate": "llm:a"}, {"QMD_GENERATE_MODEL": "openai:b"}, "openai/own"),
        ({"base_url": "http://localhost:1/v1"}, {}, {"QMD_GENERATE_MODEL": "openai:b"}, "openai/b"),
        ({"provider": "openai"}, {}, {"QMD_GENERATE_MODEL": "llm:b"}, "openai/gpt-4.1-mini"),
    ],
)
def test_the_section_goes_before_models_and_those_before_the_environment(
    section: Any, models: Any, environ: Any, name: str
) -> None:
    found = choose(section, models, environ)
    assert not isinstance(found, str)
    assert found.name == name
    assert found.base_url == section.get("base_url", "")


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"provider": "gguf"}, "provider must be one of openai, llm"),
        ({"api_key": "sk-1"}, "unknown key 'api_key'"),
        ({"model": 3}, "model has the wrong type"),
        ({"timeout_s": 0}, "timeout_s must be"),
        ({"timeout_s": float("nan")}, "timeout_s must be"),
        ({"timeout_s": True}, "timeout_s has the wrong type"),
    ],
)
def test_a_section_that_does_not_hold_is_refused(section: Any, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        choose(section, {}, {})
    assert said in refused.value.message
    assert "sk-1" not in refused.value.message + refused.value.fix
