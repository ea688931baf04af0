"""Lines as people write them: lists of secrets, and lists of lines that only look like secrets (``lines.jsonl``).

``⟦pw⟧`` marks a secret of the kind ``pw`` and ``⟦=…⟧`` a literal secret. ``⟪hex40⟫`` is a drawn value, but no secret.
``labelled.pasted`` fills in the values. There are four lists:

- pasted: what people paste into a session.
- fresh: three later lists of the same kind, each written before the rules were tried on it.
- unforeseen: places that the rules did not find when a list was written without a look at them.
- stranger: providers' formats, files, commands, and words to an agent.
"""

from __future__ import annotations

import json
from pathlib import Path

_LISTS: dict[str, list[str]] = {}
with Path(__file__).with_suffix(".jsonl").open(encoding="utf-8", newline="\n") as _file:
    for _line in map(json.loads, _file):
        _LISTS.setdefault(_line["list"], []).append(_line["text"])

SECRETS, OTHERS = _LISTS["pasted_secrets"], _LISTS["pasted_others"]
FRESH_SECRETS, FRESH_OTHERS = _LISTS["fresh_secrets"], _LISTS["fresh_others"]
UNFORESEEN_SECRETS, UNFORESEEN_OTHERS = _LISTS["unforeseen_secrets"], _LISTS["unforeseen_others"]
STRANGER_SECRETS, STRANGER_OTHERS = _LISTS["stranger_secrets"], _LISTS["stranger_others"]
