"""A session document, put together from turns, as ingest writes it."""

from __future__ import annotations

Turns = list[tuple[str, str]]


def body(turns: Turns, title: str = "A session") -> str:
    """The markdown below the frontmatter."""
    pieces = [f"# {title}\n"]
    for number, (role, text) in enumerate(turns, 1):
        pieces.append(f"\n## [{number}] {role} · 2026-05-01 10:{number:02}\n\n{text}\n")
    return "".join(pieces)


REFRESH: Turns = [
    ("user", "Please fix the token refresh race when two tabs are open. It logs people out."),
    (
        "assistant",
        "I look at the lock first.\n\n"
        "- Bash: npm test -- auth  # Run the auth tests\n  ! Exit code 1\n  ! Error: stale token in refresh.test.ts\n"
        "- Read: src/auth/refresh.ts\n\n"
        "The root cause is that both tabs read the old token before either writes the new one.\n\n"
        "- Edit: /home/me/api/src/auth/refresh.ts (2 edits)\n"
        "- Bash: npm test -- auth\n\n"
        "All auth tests pass now.",
    ),
    ("user", "No, don't keep the token in localStorage. We decided to use an HttpOnly cookie because XSS reads it."),
    (
        "assistant",
        "I tried a BroadcastChannel lock but Safari drops its messages in the background.\n\n"
        "- Write: /home/me/api/src/auth/cookie.ts\n"
        "- Bash: git push --force\n  rejected by the user\n\n"
        "Still to do: rotate the signing keys in production.\n\nShould the grace period be 30 seconds?\n\n"
        "### reasoning\n\nThe service worker would be an option but it is too complex.",
    ),
]
