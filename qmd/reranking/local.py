"""A cross-encoder on this machine: ``model.onnx`` and ``tokenizer.json`` of one folder, run by onnxruntime.

The model reads question and text as one pair of sentences. It gives one logit for how well they match, or two (no,
yes). Source: Nogueira and Cho, Passage Re-ranking with BERT, 2019.
"""

from __future__ import annotations

import os
import threading
import time
from os.path import basename, expanduser, isfile, join, normpath
from typing import TYPE_CHECKING, Any

from core.errors import BadInput, EngineMissing, EngineTimeout, Internal
from qmd.embedding import onnx
from qmd.embedding.local import INPUTS, load_session, load_tokenizer, padding

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

# The longest pair that BERT-like models have positions for, in tokens.
WINDOW = 512
BATCH = 8
_FIX = "rerank: {path: …} names a folder with model.onnx and tokenizer.json of one cross-encoder"


class CrossEncoder:
    """``folder`` holds the model, ``window`` is how many tokens of a pair it reads: the rest of the text is cut off.

    Raises EngineMissing where the files are missing. They are loaded with the first question.
    """

    remote = False

    def __init__(self, folder: str, model: str = "", window: int = 0, threads: int = 0) -> None:
        if not folder:
            raise BadInput("the local reranker has no folder", _FIX)
        place = expanduser(folder)
        self._model_path, self._tokenizer_path = join(place, "model.onnx"), join(place, "tokenizer.json")
        for path in (self._model_path, self._tokenizer_path):
            if not isfile(path):
                raise EngineMissing(f"the reranker's {path} is missing", _FIX)
        self.name = f"local/{model or basename(normpath(place))}"
        self._window = window or min(WINDOW, _positions(join(place, "config.json")))
        self.identity = f"{normpath(place)}:{self._window}:{_stamp(self._model_path)}:{_stamp(self._tokenizer_path)}"
        self._threads = threads
        self._session: Any = None
        self._tokenizer: Any = None
        self._inputs: tuple[str, ...] = ()
        self._output = ""
        self._pad = 0
        self._run_options: Any = None
        self._cancelled = False
        self._alone = threading.Lock()

    def score(
        self, query: str, texts: Sequence[str], until: float, found: dict[int, float] | None = None
    ) -> list[float]:
        """Return how probably each text answers (0-1). Raises EngineMissing, BadInput, EngineTimeout, Internal."""
        # Who was left behind by an earlier question ends first, and soon: two would share tokenizer and memory.
        with self._alone:
            self._cancelled = False
            return self._scored(query, texts, until, {} if found is None else found)

    def cancel(self) -> None:
        """Have the batch that runs end at its next operation."""
        self._cancelled = True
        options = self._run_options
        if options is not None:
            options.terminate = True

    def close(self) -> None:
        """Let the model go."""
        self._session = None

    def _scored(self, query: str, texts: Sequence[str], until: float, found: dict[int, float]) -> list[float]:
        import numpy as np

        self._load()
        query = self._shortened(query)
        self._tokenizer.enable_truncation(self._window, strategy="only_second")
        pairs = self._tokenizer.encode_batch([(query, text) for text in texts])
        order = sorted(range(len(pairs)), key=lambda index: len(pairs[index].ids))
        for first in range(0, len(order), BATCH):
            if self._cancelled or time.monotonic() > until:
                raise EngineTimeout(f"{self.name} did not get through in time")
            rows = order[first : first + BATCH]
            judged = self._judge([pairs[row] for row in rows])
            if not np.isfinite(judged).all():
                raise Internal(f"{self.name} gives scores that are no numbers", _FIX)
            for row, value in zip(rows, judged, strict=True):
                found[row] = float(value)
        return [found[row] for row in range(len(pairs))]

    def _judge(self, pairs: Sequence[Any]) -> NDArray[np.float64]:
        import numpy as np

        onnxruntime = onnx.load()
        longest = max(len(pair.ids) for pair in pairs)
        shape = (len(pairs), longest)
        given = {name: np.zeros(shape, dtype=np.int64) for name in INPUTS}
        given["input_ids"] += self._pad
        for row, pair in enumerate(pairs):
            length = len(pair.ids)
            given["input_ids"][row, :length] = pair.ids
            given["attention_mask"][row, :length] = 1
            given["token_type_ids"][row, :length] = pair.type_ids
        self._run_options = onnxruntime.RunOptions()
        self._run_options.log_severity_level = 4  # what goes wrong is raised
        try:
            found = self._session.run([self._output], {name: given[name] for name in self._inputs}, self._run_options)[
                0
            ]
        except Exception as error:  # noqa: BLE001  # onnxruntime's exceptions share no public base
            if self._cancelled:
                raise EngineTimeout(f"{self.name} did not get through in time") from None
            raise Internal(f"{self.name} failed: {' '.join(str(error).split())[:200]}", _FIX) from None
        finally:
            self._run_options = None
        logits = np.asarray(found, dtype=np.float64)
        logits = logits[:, None] if logits.ndim == 1 else logits
        if logits.ndim != 2 or logits.shape[0] != len(pairs) or logits.shape[1] not in (1, 2):
            raise BadInput(f"{self._model_path} is no cross-encoder: it gives {'×'.join(map(str, logits.shape))}", _FIX)
        # The second of two classes is "yes"; a softmax over two is the sigmoid of their difference.
        margin = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
        with np.errstate(over="ignore"):
            probable: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-margin))
        return probable

    def _shortened(self, query: str) -> str:
        """Return a question that leaves half of the window to the text."""
        self._tokenizer.no_truncation()
        found = self._tokenizer.encode(query, add_special_tokens=False)
        most = max(1, self._window // 2)
        return query if len(found.ids) <= most else query[: found.offsets[most - 1][1]]

    def _load(self) -> None:
        if self._session is not None:
            return
        tokenizer = load_tokenizer(self._tokenizer_path)
        session = load_session(self._model_path, self._threads, _FIX)
        inputs = tuple(each.name for each in session.get_inputs())
        outputs = [each.name for each in session.get_outputs()]
        if "input_ids" not in inputs or not set(inputs) <= set(INPUTS):
            raise BadInput(f"{self._model_path} is no cross-encoder: inputs {', '.join(inputs)}", _FIX)
        self._output = "logits" if "logits" in outputs else outputs[0]
        self._inputs = inputs
        self._pad = padding(tokenizer)
        self._tokenizer = tokenizer
        self._session = session


def _positions(path: str) -> int:
    """Return how many positions the model's ``config.json`` declares, if it does."""
    import json

    try:
        with open(path, encoding="utf-8") as stream:
            found = json.load(stream)["max_position_embeddings"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return WINDOW
    return found if isinstance(found, int) and found >= 8 else WINDOW


def _stamp(path: str) -> str:
    status = os.stat(path)
    return f"{status.st_size}:{status.st_mtime_ns}"
