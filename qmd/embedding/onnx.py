"""The one door to onnxruntime: its own telemetry is switched off before it can begin.

Official builds (1.31 does) keep an identifier of the machine below the user's home. They send events to their maker,
with the interpreter's path, unless ``ORT_DISABLE_TELEMETRY`` is set before the library is loaded (``Privacy.md`` in its
wheel). This program sends nobody anything that its user did not ask for.
"""

from __future__ import annotations

import os
from typing import Any

REFUSED = {"ORT_DISABLE_TELEMETRY": "1"}


def load() -> Any:
    """Return the module ``onnxruntime``. Raises ImportError if it is not installed."""
    refuse_telemetry()
    import onnxruntime  # type: ignore[import-untyped]

    return onnxruntime


def refuse_telemetry() -> None:
    """Before anything is imported that may load the library by itself."""
    os.environ.update(REFUSED)
