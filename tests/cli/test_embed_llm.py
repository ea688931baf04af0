"""The provider ``llm`` from end to end: commands in processes of their own, which find a package of that name."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from core.home import Home
from runtime.resident.encoder import Model
from tests.cli.test_embed import fill, run
from tests.conftest import Brain

# What of https://llm.datasette.io/en/stable/embeddings/python-api.html is asked.
_LLM = """
class UnknownModelError(KeyError): pass
class Model:
    model_id = "plugin"
    def embed_multi(self, texts):
        for text in texts:
            yield [1.0, float("walrus" in text), float("river" in text), float(len(text) % 7)]
def get_embedding_model(name):
    if name != "plugin":
        raise UnknownModelError(name)
    return Model()
"""


@pytest.fixture
def plugin(tmp_path: Path) -> dict[str, str]:
    """The environment in which the package is found."""
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "llm.py").write_text(_LLM)
    return {"PYTHONPATH": str(tmp_path / "packages")}


def test_a_model_of_llm_embeds_and_is_asked_by_the_commands_and_by_the_resident_process(
    home: Home, brain: Brain, plugin: dict[str, str]
) -> None:
    fill(home, 3)
    run(brain, "index")
    chosen = ("--provider", "llm", "--model", "plugin")
    report = run(brain, "embed", *chosen, "--budget", "60s", env=plugin)
    assert (report["provider"], report["texts"], report["pending"]) == ("llm", 3, 0)
    asked = brain("qmd", "--brain", "vsearch", "walrus", *chosen, "--json", env=plugin)
    assert asked.returncode == 0, asked.stderr
    assert len(json.loads(asked.stdout)) == 3
    model = Model({**os.environ, **plugin}, 600 << 20, 60.0)
    try:
        deadline = time.monotonic() + 60
        while (found := model.encoder({"provider": "llm", "model": "plugin"})) is None:
            assert time.monotonic() < deadline, model.status()
            time.sleep(0.01)
        assert len(found.begin("where is the walrus?").vector()) == report["dimensions"]
    finally:
        model.stop()
