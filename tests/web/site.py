"""A site over a home, asked in this process as a browser would: with its cookie, from its own address."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.testclient import TestClient

from core.home import Home
from web.access import Access
from web.app import Site

PORT = 7717
NOON = 1_773_316_800  # 2026-03-12 12:00 UTC
# A session of that moment.
SESSION = """## [1] user · 2026-03-12 12:00

Why does the tide table
lose a row?

## [2] assistant · 2026-03-12 12:01

I look at the **parser**.

- Bash: pytest -k tide  # run the tests
  ! Exit code 1
  ! KeyError: 'low'
- Edit: /code/ferry/tide.py (1 edit)

The low tide has no row:

```diff
-rows[low]
+rows.get(low)
```

### reasoning

Two readers, one writer."""


class Browser:
    """A client that has opened the page's link. ``get`` gives HTML, ``json`` the envelope of the twin."""

    def __init__(self, home: Home, *, opened: bool = True) -> None:
        self.access = Access("127.0.0.1", PORT)
        self.client = TestClient(
            Site(home, {}, self.access, math.inf).app(), base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False
        )
        if opened:
            assert self.client.get(self.access.link()).status_code == 200

    def get(self, path: str, status: int = 200, headers: Mapping[str, str] | None = None) -> str:
        """Return the page at ``path``."""
        answer = self.client.get(path, headers=dict(headers or {}))
        assert answer.status_code == status, answer.text[:2000]
        return answer.text

    def json(self, path: str, status: int = 200) -> dict[str, Any]:
        """Return the envelope at ``path``, which ends in ``.json`` before its parameters."""
        answer = self.client.get(path)
        assert answer.headers["content-type"] == "application/json"
        assert answer.status_code == status, answer.text[:2000]
        envelope = json.loads(answer.text)
        assert isinstance(envelope, dict)
        return envelope

    def post(self, path: str, fields: Mapping[str, str], status: int = 200) -> str:
        """Send a form as the page itself does."""
        answer = self.client.post(path, data=dict(fields), headers={"origin": f"http://127.0.0.1:{PORT}"})
        assert answer.status_code == status, answer.text[:2000]
        return answer.text


def write_run(home: Home, name: str, values: Mapping[str, float], *, dataset: str = "own") -> None:
    """Keep a run of questions as ``brain eval run`` does; ``values`` are each arm's figure of every measure."""
    arms = [
        {
            "arm": arm,
            "questions": 20,
            "metrics": dict.fromkeys(("hit@1", "hit@5", "recall@5", "mrr@10", "ndcg@10"), value),
            "latency_ms": {"p50": 12.0},
        }
        for arm, value in values.items()
    ]
    day = f"{name[:4]}-{name[4:6]}-{name[6:8]}T{name[9:11]}:00:00Z"
    run = {"run": name, "ts": day, "version": "1", "sets": [{"name": dataset, "documents": 7, "arms": arms}]}
    place = Path(home.state, "eval", "runs", name)
    place.mkdir(parents=True)
    (place / "run.json").write_text(json.dumps(run), encoding="utf-8")


def document(collection: str, path: str) -> str:
    """Return the address of a document."""
    return f"/s/{quote(f'{collection}/{path}')}"
