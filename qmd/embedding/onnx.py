"""The one door to onnxruntime, whose own telemetry is switched off before it can begin.

Its official builds (1.31 does) keep an identifier of the machine below the user's home, and send events (the
interpreter's path among them) to their maker, unless ``ORT_DISABLE_TELEMETRY`` says no before the library is loaded
(``Privacy.md`` in its wheel). This program tells nobody anything that its user did not ask for.
"""

from __future__ import annotations

import os
from typing import Any

REFUSED = {"ORT_DISABLE_TELEMETRY": "1"}


def load() -> Any:
    """The module ``onnxruntime``. Raises ImportError where it is not installed."""
    refuse_telemetry()
    import onnxruntime  # type: ignore[import-untyped]

    return onnxruntime


def refuse_telemetry() -> None:
    """Before anything is imported that may load the library by itself."""
    os.environ.update(REFUSED)
