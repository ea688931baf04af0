"""A session's document with a bit of everything that a successor needs."""

from __future__ import annotations

HEAD = """---
session_id: s1
source: claude
title: Make the client sturdier
date: 2026-05-02T08:00:00Z
ended: 2026-05-02T09:00:00Z
project: /srv/api
---

# Make the client sturdier
"""
TURNS = """
## [1] user · 2026-05-02 08:00

Make the HTTP client sturdier. It gives up too early on slow networks.

## [2] assistant · 2026-05-02 08:01

- Bash: make check-net
- Edit: /srv/api/src/net/client.py (lines 3-9)
- Bash: go vet ./pkg/quorum
  ! error: cannot find package quorum

I decided to retry three times, because the gateway restarts within a second.

## [3] user · 2026-05-02 08:10

No, don't use exponential backoff, it hides outages & alarms <fast>.

## [4] assistant · 2026-05-02 08:11

- Bash: pytest tests/net
  ! E   ModuleNotFoundError: No module named 'respx'
- Edit: /srv/api/pyproject.toml (lines 8-8)
- Bash: pytest tests/net

Constant delays it is. Next: wire the limiter into the router.
"""
SUMMARY = """
## [5] compaction · 2026-05-02 08:20

### summary of what was compacted

We made the client sturdier in client.py and ran make check-net.

## [6] user · 2026-05-02 08:21

and now the router
"""
SESSION = HEAD + TURNS
COMPACTED = SESSION + SUMMARY
