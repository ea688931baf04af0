from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.distill import shell


@pytest.mark.parametrize(
    "command",
    [
        "npm test",
        "cd /srv/api && npm test",
        "cd /srv/api; npm test",
        "# run them all\nnpm test 2>&1",
        "mise run fmt && mise run lint",
        "set -e\nmake\nmake install",
        "set -o pipefail; npm test | tail -5",
        "git commit -m \"$(cat <<'EOF'\nOne; two | three || four\n\nEOF\n)\"",
        "git commit -m 'a | b; c'",
        "npm test && git status | head",
        "cat notes.md | python tool.py",
        "rm -rf build; make",
    ],
)
def test_a_success_that_proves_what_ran(command: str) -> None:
    assert shell.acts(command)
    assert shell.is_proved(command)


@pytest.mark.parametrize(
    "command",
    [
        "npm test 2>&1 | tail -20",
        "npm run check 2>&1 | grep 'error TS'",
        "npm test || true",
        "npm test; echo done",
        "npm test\necho $?",
        "make & sleep 5",
        "npm run dev &",
        "for i in 1 2 3; do npm test; done",
        "mise run fmt && mise run test 2>&1 | tail -20",
    ],
)
def test_a_success_that_something_else_hides(command: str) -> None:
    assert not shell.is_proved(command)


@pytest.mark.parametrize(
    "command",
    [
        "ls -la && cat x",
        "git -C /srv/api rev-parse HEAD",
        "git --no-pager log --oneline -5",
        "gh pr view 12 --json title",
        "gh api repos/a/b/pulls/3/comments --jq '.[]'",
        "docker ps",
        "npm ls react",
        "go doc net/http.Client",
        "tool --help",
        "node --version",
        "BASE=$(git merge-base main HEAD) && echo $BASE",
        "python3 -c 'print(1)'",
        "python3 - <<'EOF'\nimport os\nos.unlink('x')\nEOF",
        "cat > x.go <<'EOF'\npackage main\nEOF",
        "bash -lc 'sed -n 1,20p x'",
        "",
        "# nothing",
    ],
)
def test_looking_is_no_deed(command: str) -> None:
    assert not shell.acts(command)


@pytest.mark.parametrize(
    "command",
    [
        "git push --force",
        "gh pr create --fill",
        "gh api repos/a/b -X POST -f x=1",
        "bash -lc 'make install'",
        "npm run lint",
    ],
)
def test_a_deed_is_told_from_looking(command: str) -> None:
    assert shell.acts(command)


@pytest.mark.parametrize(
    ("command", "head"),
    [
        ("git -C /srv/api push origin main", "git push"),
        ("cd x && npm run build 2>&1 | tail", "npm build"),
        ("CI=1 timeout 60 uv run pytest tests -q", "pytest tests"),
        ("pnpm --filter @a/b check-types", "pnpm check-types"),
        ("git status && git push", "git push"),
        ("ls -la", "ls"),
    ],
)
def test_what_a_command_is_a_case_of(command: str, head: str) -> None:
    assert shell.head(command) == head


@pytest.mark.parametrize(
    ("failed", "other"),
    [
        ("npm test -- auth", "npm test -- auth 2>&1"),
        ("git push", "git push --set-upstream origin fix"),
        ("go test ./a/... -run TestX", "go test -v ./a/... -run TestX -count=1"),
        ("cat app/(x)/y && prettier app/(x)/page.tsx", "prettier 'app/(x)/page.tsx'"),
    ],
)
def test_the_same_thing_tried_again(failed: str, other: str) -> None:
    assert shell.is_like(failed, other)


@pytest.mark.parametrize(
    ("failed", "other"),
    [
        ("go test ./payments/... -run TestRefund", "go test ./auth/login -run TestTimeout -count=3"),
        ("npm run check", "npm run build"),
        ("git stash && make lint; git stash pop", "git stash drop"),
        ("git -C /srv/a gc --auto", "git -C /srv/a push"),
    ],
)
def test_another_thing_is_no_cure(failed: str, other: str) -> None:
    assert not shell.is_like(failed, other)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("# Commit the changes\ngit add -A\n", "git add -A"),
        ("git commit -m \"$(cat <<'EOF'\nAdd the cache\n\nLong text\nEOF\n)\"", 'git commit -m "Add the cache …"'),
        ("cat > x.go <<'EOF'\npackage main\nEOF\ngo run x.go", "go run x.go"),
        ("docker run \\\n  -it x", "docker run -it x"),
        ("make all", "make all"),
    ],
)
def test_a_command_is_shown_by_what_it_does(command: str, line: str) -> None:
    assert shell.short(command) == line


@given(st.text(alphabet="ab|&;<>()$'\"`\\ \n#=-E", max_size=60))
def test_no_command_breaks_the_reading(command: str) -> None:
    shell.simples.cache_clear()
    shell.acts(command)
    shell.is_proved(command)
    shell.head(command)
    shell.deed(command)
    assert "\n" not in shell.short(command)
