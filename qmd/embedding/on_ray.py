"""The local model on the processors of a Ray cluster, for the day when years of texts wait at once.

Each worker holds the model and computes with one thread. Ray starts a lost worker again and gives it the texts that it
had; stored is what arrives here, so nothing is lost and nothing that was stored is computed again. Ray's own reports of
use are switched off.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from core.errors import BadInput, EngineMissing
from qmd.embedding.local import BATCH, Local

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

# The cluster of a machine of one's own, and how others begin.
HERE, ELSEWHERE = "ray", "ray://"
# Texts that a worker is given at once, and how often that each gets some from one call: a worker that is slow, or
# begins again, keeps the others waiting for one share at most.
_TEXTS, _SHARES = 2 * BATCH, 4
_FIX = "pip install 'brain-memory[ray]'"


class OnRay:
    """The provider ``local`` whose texts are embedded by ``workers`` of a cluster (0: as many as it has processors).

    ``cluster`` is ``ray``, a cluster of this machine that lives as long as the provider, or ``ray://HOST:PORT``, where
    brain with its extra ``ray`` is installed on each node. To those texts go without their secrets. ``folder``,
    ``model`` and ``window`` are those of ``Local``. Raises BadInput, and EngineMissing where there is no Ray or no
    cluster.
    """

    name = Local.name
    here = False

    def __init__(self, cluster: str, folder: str = "", model: str = "", window: int = 0, workers: int = 0) -> None:
        if cluster != HERE and not cluster.startswith(ELSEWHERE):
            raise BadInput(f"{cluster!r} is no cluster", f"--on {HERE}, or --on {ELSEWHERE}HOST:PORT")
        self._model = Local(folder, model, window)
        self.model, self.window, self.layout = self._model.model, self._model.window, self._model.layout
        self.fingerprint = self._model.fingerprint
        self.outside = cluster != HERE
        self._ray = _start(cluster, workers)
        count = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        worker = self._ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(Local)
        self._workers = [worker.remote(folder, model, window, 1) for _ in range(count)]
        self.batch = count * _TEXTS * _SHARES

    @property
    def dimensions(self) -> int:
        """Return the length of a vector. Raises EngineMissing if the model cannot be loaded."""
        return self._model.dimensions

    @property
    def tokenizer(self) -> Any:
        """Return the model's own tokenizer."""
        return self._model.tokenizer

    def embed(self, texts: Sequence[str], *, question: bool = False) -> NDArray[np.float32]:  # noqa: ARG002
        """Return one row per text, of length 1. Raises EngineMissing if the cluster is lost or its model fails."""
        import numpy as np
        from ray.exceptions import RayError
        from ray.util import ActorPool

        shares = [list(texts[start : start + _TEXTS]) for start in range(0, len(texts), _TEXTS)]
        # The longest share first: whoever gets it does not keep the others waiting at the end.
        order = sorted(range(len(shares)), key=lambda share: -sum(map(len, shares[share])))
        rows: list[NDArray[np.float32]] = [np.empty((0, 0), dtype=np.float32)] * len(shares)
        try:
            found = ActorPool(self._workers).map(lambda worker, share: worker.embed.remote(shares[share]), order)
            for share, vectors in zip(order, found, strict=True):
                rows[share] = vectors
        except RayError as error:
            first = str(error).strip().splitlines()
            raise EngineMissing(
                f"the Ray cluster failed: {first[-1] if first else type(error).__name__}", "ray status"
            ) from None
        return np.concatenate(rows) if rows else np.empty((0, self.dimensions), dtype=np.float32)

    def embed_ids(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return one row for each short row of token ids, computed here: the query table needs few."""
        return self._model.embed_ids(rows)

    def close(self) -> None:
        """Let the workers go, and the cluster if it was made for this."""
        self._workers.clear()
        self._ray.shutdown()
        self._model.close()


def _start(cluster: str, workers: int) -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError:
        raise EngineMissing("Ray is not installed", _FIX) from None
    try:
        if cluster == HERE:
            # What is imported here can be imported by the workers, wherever the checkout lies.
            root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
            ray.init(
                num_cpus=workers or None,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": {"PYTHONPATH": root}},
            )
        else:
            ray.init(address=cluster, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, TimeoutError, ValueError, RuntimeError) as error:
        raise EngineMissing(
            f"no Ray cluster answers at {cluster}: {error}", "ray status, on the machine of the cluster"
        ) from None
    return ray
