"""Run as a program of its own by ``qmd.generation.of_llm``: one prompt to one model of the package ``llm``.

JSON on stdin (``model``, ``system``, ``prompt``), JSON on stdout (``text``, ``tokens``, or ``error`` and ``hopeless``).
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> None:
    """Ask, and print the answer; an error's text is not passed on, as a plugin's may hold a key."""
    job = json.load(sys.stdin)
    print(json.dumps(_ask(job)))


def _ask(job: dict[str, str]) -> dict[str, Any]:
    try:
        import llm
    except ImportError:
        return {"error": "the package llm is not installed", "hopeless": True}
    try:
        model: Any = llm.get_model(job["model"])
    except llm.UnknownModelError:
        return {"error": f"llm knows no model {job['model']!r}", "hopeless": True}
    try:
        response = model.prompt(job["prompt"], system=job["system"], stream=False)
        text = response.text()
        usage = response.usage()
    except llm.NeedsKeyException:
        return {"error": "llm has no key for this model", "hopeless": True}
    except Exception as error:  # noqa: BLE001  # whatever a plugin raises
        return {"error": type(error).__name__, "hopeless": False}
    return {"text": text, "tokens": (usage.input or 0) + (usage.output or 0)}


if __name__ == "__main__":
    main()
