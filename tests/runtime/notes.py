"""Notes as people and agents capture them: thirty worth keeping, and thirty that are not, by the rule that says so."""

from __future__ import annotations

WORTH = [
    "We use UUIDv7 for order ids so that the primary key index stays append-only",
    "Never run the migration and the deploy in one pipeline: a rollback of the second cannot undo the first",
    "Mira owns the billing webhooks; ask her before renaming an event",
    "Staging database is reset every Sunday at 03:00 UTC",
    "prefer httpx over requests in new services, the retries are built in",
    "Customer Acme may not get the EU flag before their DPA is signed (June)",
    "The flaky login test waits for a toast that is not rendered in headless mode",
    "pnpm install --frozen-lockfile fails on M1 unless Rosetta is on",
    "Idea: show the age of a hit as a bar instead of a sentence",
    "Tried Redis streams for the queue: consumer groups lose the order after a rebalance",
    "CI minutes cost us 412 EUR in April",
    "The parser accepts trailing commas on purpose, the mobile app sends them",
    "Use `make seed` after pulling, else the fixtures are from last week",
    "Design review decided: one settings page, no wizard",
    "rm -rf build before switching branches, or ninja links the old objects",
    "Open question: who pays for storage beyond 30 days?",
    "To debug the hook:\n\nexport BRAIN_DEBUG=1\nclaude --debug\n\nThe interesting line begins with `hook:`.",
    "The retry budget is 3, not 5: the gateway gives up after 10 s",
    "ffmpeg -i in.mov -c:v libx264 -crf 23 out.mp4  # the size the CMS accepts",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'; -- frees deploys",
    "Reading list: Lin & Bilmes 2011 on submodular summaries; Minoux 1978 on the lazy greedy algorithm",
    "Fixed the memory leak by closing the iterator: SQLite keeps the snapshot alive as long as it is open",
    "Deploy order: database, workers, api, web. Workers first breaks the schema check",
    "Kein Deploy am Freitag, weil am Samstag niemand Bereitschaft hat",
    "我们决定使用 HttpOnly cookie，因为 XSS 可以读取 localStorage",
    "Alice prefers to be pinged on Signal, not on Slack",
    "The 2023 invoices live in the old bucket (invoices-archive), read-only",
    "p95 of search was 38 ms before the index change and 21 ms after, on the 10k corpus",
    "Regex for our ticket ids: ^[A-Z]{2,5}-\\d+$",
    "Agenda for Thursday:\n- pricing of the team plan\n- who takes the on-call of August\n- the name of the new app",
]

UNWORTHY: dict[str, list[str]] = {
    "code-listing": [
        "def add(a, b):\n    return a + b\n\nprint(add(1, 2))",
        "const total = items.reduce((sum, item) => sum + item.price, 0);\nreturn total;",
        "import os\nimport sys\nfrom pathlib import Path",
        "for (let i = 0; i < rows.length; i++) {\n  console.log(rows[i]);\n}",
        '{\n  "name": "api",\n  "version": "1.2.0",\n  "private": true\n}',
        "```python\nclass Cache:\n    def get(self, key):\n        return self._data[key]\n```",
        "services:\n  db:\n    image: postgres:16\n    ports:\n      - 5432:5432",
    ],
    "file-inventory": [
        "src/auth.py\nsrc/main.py\ntests/test_auth.py",
        "Files changed: src/auth.py, src/main.py, tests/test_auth.py",
        "- `src/auth/refresh.ts`\n- `src/auth/cookie.ts`\n- `src/index.ts`",
        "Modified files:\n- src/auth.py\n- src/main.py",
    ],
    "git-history": [
        "1a2b3c4 Fix the parser\n5d6e7f8 Add tests",
        "commit 1a2b3c4d5e6f\nAuthor: Ana <a@example.org>\nDate:   Fri May 1 10:00:00 2026\n\n    Fix the parser",
    ],
    "command-output": [
        "On branch main\nYour branch is up to date with 'origin/main'.\nnothing to commit, working tree clean",
        " src/auth.py | 12 ++++++------\n 1 file changed, 6 insertions(+), 6 deletions(-)",
    ],
    "test-output": [
        "All 142 tests pass",
        "12 passed, 1 skipped in 3.41s",
        "FAILED tests/test_auth.py::test_refresh - AssertionError: assert 401 == 200",
    ],
    "activity-log": [
        "Implemented the new login page and ran the linter",
        "Session summary: updated the README, fixed two tests, pushed to main",
        "I've successfully added the endpoint. All tests are passing now.",
        "Completed task 3 of 7",
    ],
    "code-reference": [
        "refresh() is in src/auth/refresh.ts",
        "The config parser can be found at core/config.py:88",
    ],
}

SECRETS = [
    "the deploy token is ghp_" + "Ab3dE6gH9" * 4,
    "AWS_SECRET_ACCESS_KEY=" + "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "ZQ1x2y3z4w",
    "postgres://app:" + "S3cr3t-Pa55w0rd" + "@db.internal:5432/orders is the staging database",
]

# (what is there, what is then said, whether that is the same)
SAID_AGAIN = [
    (
        "We never force-push to main: it broke the release of April",
        "never force push to main, it broke the April release",
    ),
    ("Staging database is reset every Sunday at 03:00 UTC", "The staging database is reset each Sunday at 03:00 UTC."),
    ("prefer httpx over requests in new services", "Prefer httpx to requests in new services"),
]
SAID_OTHERWISE = [
    ("The retry budget is 3, not 5", "The retry budget is 5, not 3"),
    ("prefer httpx over requests in new services", "prefer requests over httpx in new services"),
    ("Deploys need two reviewers", "Deploys do not need two reviewers"),
    ("The api listens on port 8080 in staging", "The api listens on port 8080 in production"),
]
