"""The embedding models of ``llm``'s plugins."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from core.errors import BadInput, EngineMissing, EngineTimeout
from qmd.embedding import wire
from qmd.embedding.provider import make
from qmd.embedding.remote import LlmEmbedder
from tests.qmd.embedding.clients import KEY
from tests.qmd.embedding.endpoint import DIMENSIONS, vector

pytestmark = pytest.mark.usefixtures("direct")


class _Model:
    model_id = "plugin-model"

    def embed_multi(self, texts: list[str]) -> Iterator[list[float]]:
        if "fail" in texts:
            raise RuntimeError(f"401 for {KEY}")
        if "slow" in texts:
            threading.Event().wait(0.3)
        yield from (vector(text) for text in texts if text != "lost")


def test_a_model_of_llm_embeds_and_its_failures_show_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unknown(KeyError):
        pass

    def find(name: str) -> _Model:
        if name != "plugin":
            raise Unknown(name)
        return _Model()

    monkeypatch.setitem(sys.modules, "llm", SimpleNamespace(get_embedding_model=find, UnknownModelError=Unknown))
    provider = LlmEmbedder({}, "plugin")
    assert provider.embed(["a", "b"]).shape == (2, DIMENSIONS)
    with pytest.raises(wire.Nonsense) as caught:
        provider.embed(["fail"])
    assert KEY not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(wire.Nonsense, match="0 vectors for 1"):
        provider.embed(["lost"])
    with pytest.raises(BadInput, match="llm knows no embedding model"):
        LlmEmbedder({}, "other")
    with pytest.raises(BadInput, match="wants a model"):
        make({"provider": "llm"}, {})
    provider.hurry(0.02)
    with pytest.raises(EngineTimeout, match="did not answer in time"):
        provider.embed(["slow"], question=True)
    provider.hurry(30)
    assert provider.embed(["a"], question=True).shape == (1, DIMENSIONS)
    provider.close()


def test_without_llm_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llm", None)
    with pytest.raises(EngineMissing) as caught:
        make({}, {}, "llm", "x")
    assert "pip install" in caught.value.fix


def test_the_real_llm_is_asked_by_its_own_interface() -> None:
    pytest.importorskip("llm")
    with pytest.raises(BadInput, match="llm knows no embedding model"):
        LlmEmbedder({}, "a-model-that-nobody-has")
