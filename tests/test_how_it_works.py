"""The page for people is true: its sentence takes the way that the page says, in the forms that the page shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from core.home import Home
from tests.conftest import Brain
from tests.ingest.transcripts import Script, save, text

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "how-it-works.md").read_text(encoding="utf-8")
SENTENCE = re.search(r"^> (.+)$", PAGE, re.MULTILINE)
QUESTION = re.search(r'^brain ask "(.+)"$', PAGE, re.MULTILINE)
FORMS = re.findall(r"^```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def sentence(home: Home, claude_root: Path, brain: Brain) -> str:
    assert SENTENCE is not None
    said = SENTENCE[1]
    script = Script()
    save(
        claude_root / "projects" / "api" / f"{script.session}.jsonl",
        script.user("Why does the gateway log people out at random?"),
        script.assistant(text("Two requests refresh the token at once, and the second one's is revoked.")),
        script.user(said),
        script.assistant(text("Done: the refresh holds one lock.")),
    )
    assert brain("index", "--new", "--queue").returncode == 0
    return said


def test_the_sentence_takes_the_way_that_the_page_says(home: Home, brain: Brain, sentence: str) -> None:
    turn, decision = FORMS
    assert sentence in turn
    assert sentence in decision
    (document,) = Path(home.path("brain")).glob("*.md")
    assert turn in document.read_text(encoding="utf-8") + "\n"

    assert json.loads(brain("ask", "--json", "token refresh lock").stdout)["hits"][0]["uri"].endswith(document.name)
    assert brain("distill", "--from-pending").returncode == 0
    assert decision in Path(home.path("distilled", document.name)).read_text(encoding="utf-8") + "\n"

    assert QUESTION is not None
    (hit,) = json.loads(brain("ask", "--json", QUESTION[1]).stdout)["hits"]
    assert sentence in hit["snippet"]
    assert hit["stale"]
    assert hit["resume"]
    assert hit["age_days"] > 0


def test_it_goes_and_does_not_come_back(home: Home, brain: Brain, sentence: str) -> None:
    (document,) = Path(home.path("brain")).glob("*.md")
    assert brain("forget", f"qmd://brain/{document.name}", "--yes").returncode == 0
    assert brain("index").returncode == 0
    assert QUESTION is not None
    assert brain("ask", QUESTION[1]).returncode == 67


def test_the_page_is_found_from_the_readme() -> None:
    readme = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
    assert "(docs/how-it-works.md)" in readme
