"""The package llm: a model registered as its plugins register theirs, and one in a process of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors import BadInput, EngineMissing, EngineTimeout, Internal
from qmd.generation import llm_worker
from qmd.generation.of_llm import LlmGenerator
from tests.qmd.embedding.endpoint import Endpoint, hangs, says
from tests.qmd.generation.test_of_openai import chat


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Any]]:
    """A model that says back what it was told, through llm's own plugin manager; keeps its prompts."""
    llm = pytest.importorskip("llm")
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    asked: list[Any] = []

    class Stub(llm.Model):  # type: ignore[misc,name-defined]
        model_id = "brain-stub"
        can_stream = False

        def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
            asked.append((prompt.system, prompt.prompt))
            if prompt.prompt == "fail":
                raise RuntimeError("sk-secret")
            yield f"lex: {prompt.prompt}"

    class Plugin:
        __name__ = "BrainStub"

        @llm.hookimpl  # type: ignore[untyped-decorator]
        def register_models(self, register: Any) -> None:
            register(Stub())

    from llm import plugins

    its: Any = plugins
    its.load_plugins()
    plugin = Plugin()
    its.pm.register(plugin)
    yield asked
    its.pm.unregister(plugin)


def test_a_plugins_model_is_asked_by_llms_own_interface(stub: list[Any]) -> None:
    said = llm_worker._ask({"model": "brain-stub", "system": "be brief", "prompt": "what"})
    assert said["text"] == "lex: what"
    assert stub == [("be brief", "what")]


def test_a_plugins_failure_shows_nothing_of_its_text(stub: list[Any]) -> None:
    said = llm_worker._ask({"model": "brain-stub", "system": "", "prompt": "fail"})
    assert said == {"error": "RuntimeError", "hopeless": False}


def test_without_the_package_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llm", None)
    assert llm_worker._ask({"model": "x"}) == {"error": "the package llm is not installed", "hopeless": True}


def loop(endpoint: Endpoint, folder: Path) -> dict[str, str]:
    """An environment in which llm knows a model ``loop``, which is ``endpoint``."""
    (folder / "extra-openai-models.yaml").write_text(
        f"- model_id: loop\n  model_name: small\n  api_base: {endpoint.url}\n  can_stream: false\n"
    )
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "")
    return {**os.environ, **proxies, "LLM_USER_PATH": str(folder), "OPENAI_API_KEY": "x"}


def test_a_model_is_asked_in_a_process_of_its_own_that_a_deadline_ends(endpoint: Endpoint, tmp_path: Path) -> None:
    pytest.importorskip("llm")
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    about = {"id": "x", "object": "chat.completion", "created": 1, "model": "s", "usage": usage}
    endpoint.always = says({**chat("lex: from llm"), **about})
    environ = loop(endpoint, tmp_path)
    assert LlmGenerator("loop", environ).ask("be brief", "what", 60) == "lex: from llm"
    assert [message["content"] for message in endpoint.requests[0][2]["messages"]] == ["be brief", "what"]
    with pytest.raises(EngineMissing, match="knows no model"):
        LlmGenerator("none-of-them", environ).ask("", "", 60)
    endpoint.always = hangs(endpoint.stopped)
    with pytest.raises(EngineTimeout, match="did not answer in time"):
        LlmGenerator("loop", environ).ask("", "", 1)


def test_a_process_that_says_nothing_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho not json\nexit 3\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(Internal, match="llm ended with 3"):
        LlmGenerator("m", {}).ask("", "", 30)


def test_a_model_must_be_named() -> None:
    with pytest.raises(BadInput, match="wants a model's name"):
        LlmGenerator("", {})
