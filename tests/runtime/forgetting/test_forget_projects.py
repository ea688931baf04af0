"""Forgetting by project covers the documents that the same rule would exclude."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import apsw
import pytest

from core.document import render
from core.home import Home
from ingest import registry
from ingest.policy.exclusions import Rules
from tests.ingest.sources import test_opencode as opencode
from tests.ingest.transcripts import Script, save
from tests.runtime.forgetting.test_forget import documents, gone, run
from tests.unpacked import everything


@pytest.mark.parametrize("rule", ["/home/me/clients/acme", "/home/me/clients/acme/", "acme", "/home/me/clients/a*"])
def test_a_project_goes_with_all_that_was_begun_below_it_as_the_same_rule_excludes_it(
    home: Home, claude_root: Path, tmp_path: Path, rule: str
) -> None:
    clients = "/home/me/clients"
    folders = {"acme": True, "acme/": True, "acme/api": True, "web/../acme/gone": True, "bacme": False, "web": False}
    for number, name in enumerate(folders):
        session = f"5f0c2a1e-0000-4000-8000-{number:012d}"
        script = Script(session, prefix=str(number), cwd=f"{clients}/{name}")
        save(claude_root / "projects" / "p" / f"{session}.jsonl", script.user(f"Question {number} of {name}"))
    run(home)
    gone(home, within=rule)
    left = {path.read_text().partition("Question ")[2][0] for path in Path(home.path("brain")).iterdir()}
    assert left == {str(number) for number, goes in enumerate(folders.values()) if not goes}
    rules = Home(str(tmp_path / "other"))
    rules.make()
    Path(rules.path("collections.yml")).write_text(
        f"collections: {{brain: {{path: brain}}}}\nexclude: {{projects: ['{rule}']}}\n"
    )
    assert [bool(Rules(rules, registry.settings(rules)).excluded("", f"{clients}/{name}")) for name in folders] == list(
        folders.values()
    )


def test_code_goes_by_the_folder_of_its_file(home: Home) -> None:
    for name in ("api/a.py", "web/b.py"):
        path = Path(home.path("code", "repo", f"{Path(name).stem}.md"))
        path.parent.mkdir(parents=True, exist_ok=True)
        fields = {"session_id": f"code-{path.stem}", "nodeId": f"Function:{name}:f", "source": "code"}
        fields |= {"project": "/home/me/repo", "filePath": name}
        path.write_bytes(render({**fields, "title": name}, f"# {name}\n"))
    run(home)
    assert gone(home, within="/home/me/repo/api").documents == 1
    assert documents(home) == {"qmd://code/repo/b.md"}


@pytest.mark.parametrize("rebuild", [False, True])
def test_what_shares_its_file_with_others_stays_when_a_rule_comes_and_goes_with_its_project(
    home: Home, tmp_path: Path, rebuild: bool
) -> None:
    prompts = [
        {"display": f"prompt of {name}", "timestamp": 1, "project": f"/home/me/{name}", "sessionId": f"{name}-1"}
        for name in ("acme", "web")
    ]
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude" / "history.jsonl").write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
    store = opencode.database(tmp_path / "open" / "opencode.db")
    with apsw.Connection(str(store)) as connection:
        connection.execute("update session set directory = '/home/me/acme', title = 'prompt of acme'")
        connection.execute("insert into session values('ses_2','s','/home/me/web','prompt of web','1',null,1)")
        connection.execute("insert into message select 'm_2','ses_2',time_created,data from message where id = 'msg_1'")
        connection.execute("insert into part select 'p_2','m_2','ses_2',time_created,data from part where id = 'prt_1'")

    def again() -> None:
        for source, folder in (("claude", "claude"), ("opencode", "open")):
            run(home, source=source, roots=[str(tmp_path / folder)], rebuild=rebuild)

    again()
    before = documents(home)
    assert len(before) == 4
    shipped = Path("collections.yml").read_text()
    Path(home.path("collections.yml")).write_text(f"{shipped}\nexclude: {{projects: [/home/me/acme]}}\n")
    again()
    assert documents(home) == before
    outcome = gone(home, within="/home/me/acme")
    assert (outcome.documents, outcome.left) == (2, [])
    again()
    assert documents(home) == {"qmd://brain/web-1.md", "qmd://brain/opencode__ses_2.md"}
    assert b"prompt of acme" not in everything(home)
    assert b"prompt of web" in everything(home)


def test_a_digest_or_slug_of_a_folder_is_forgotten_as_the_rule_excludes_it(home: Home, tmp_path: Path) -> None:
    for place in ("/home/me/acme", "/home/me/web"):
        name = place.rpartition("/")[2]
        digest = hashlib.sha256(place.encode()).hexdigest()
        head = {"sessionId": name, "projectHash": digest, "startTime": "2026-04-28T09:00:00.000Z"}
        said = {"id": "a", "timestamp": "2026-04-28T09:00:01.000Z", "type": "user", "content": f"Why {name}?"}
        session = tmp_path / f"tmp/{digest}/chats/session-{name}.json"
        agent = tmp_path / f"projects/home-me-{name}/agent-transcripts/{name}/{name}.jsonl"
        for path, record in (
            (session, {**head, "messages": [said]}),
            (agent, {"role": "user", "message": {"content": [{"type": "text", "text": f"And {name}?"}]}}),
        ):
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(record) + "\n")
    for source, folder in (("gemini", "tmp"), ("cursor", "projects")):
        run(home, source=source, roots=[str(tmp_path / folder)])
    outcome = gone(home, within="/home/me/acme")
    assert (outcome.documents, outcome.left) == (2, [])
    assert documents(home) == {"qmd://brain/gemini__web.md", "qmd://brain/cursor__web.md"}
