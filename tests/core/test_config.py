from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import config, files, jsonio
from core.errors import BadInput
from core.home import Home
from tests.examples import examples

ROOT = str(Path(__file__).resolve().parents[2])
_LOAD = """
import sys
sys.path.insert(0, sys.argv[1])
from core.config import load
from core.home import Home
found = load(Home(sys.argv[2]))
print(",".join(found.collections), *sorted({"yaml", "re", "json"} & set(sys.modules)))
"""


def _write(home: Home, text: str) -> Path:
    path = Path(home.path("collections.yml"))
    path.write_text(text)
    return path


def _names(home: Home) -> list[str]:
    return list(config.load(home).collections)


def test_the_shipped_file_is_valid(home: Home) -> None:
    found = config.load(home)
    assert found.path == os.path.join(ROOT, "collections.yml")
    assert list(found.collections) == [
        "brain",
        "distilled",
        "kb-wiki",
        "kb-raw",
        "chrome-history",
        "inbox",
        "code",
        "git",
    ]
    brain = found.collections["brain"]
    assert (brain.path, brain.pattern, brain.trust, brain.quota) == (home.path("brain"), "**/*.md", "session", 0.5)
    assert brain.include_by_default
    assert found.section("ask") == {"timeout_s": 10}
    assert found.section("telemetry") == {}


def test_the_homes_file_takes_the_place_of_the_shipped_one(home: Home) -> None:
    _write(home, "collections:\n  notes: {path: ~/n, ignore: [a], includeByDefault: false, quota: 1}\n  rel:\n")
    found = config.load(home).collections
    assert list(found) == ["notes", "rel"]
    assert (found["notes"].path, found["notes"].ignore) == (os.path.expanduser("~/n"), ("a",))
    assert (found["notes"].include_by_default, found["notes"].quota, found["notes"].trust) == (False, 1.0, "note")
    assert found["rel"].path == home.path("rel")


def test_keys_without_a_value_mean_their_default(home: Home) -> None:
    keys = ("path", "pattern", "ignore", "context", "update", "includeByDefault", "trust", "quota")
    _write(home, "collections:\n  a:\n" + "".join(f"    {key}:\n" for key in keys) + "sources:\nask:\n")
    found = config.load(home).collections["a"]
    assert (found.path, found.pattern, found.ignore, found.context) == (home.path("a"), "**/*.md", (), {})
    assert (found.include_by_default, found.trust, found.quota, found.update) == (True, "note", 0.5, "")


def test_the_inbox_lies_where_the_environment_says(tmp_path: Path) -> None:
    elsewhere = Home(str(tmp_path / "home"), str(tmp_path / "notes"))
    assert config.load(elsewhere).collections["inbox"].path == str(tmp_path / "notes")


def test_a_second_load_parses_no_yaml(home: Home) -> None:
    _write(home, "collections: {notes: }\n")

    def load() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", _LOAD, ROOT, home.root], capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    assert load()[:1] == ["notes"]
    assert load() == ["notes"]


def test_an_edit_within_the_same_second_is_seen(home: Home) -> None:
    path = _write(home, "collections: {aaa: }\n")
    assert _names(home) == ["aaa"]
    status = path.stat()
    path.write_text("collections: {bbb: }\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert _names(home) == ["bbb"]


def test_a_replaced_file_of_the_same_size_and_time_is_seen(home: Home) -> None:
    path = _write(home, "collections: {aaa: }\n")
    assert _names(home) == ["aaa"]
    status = path.stat()
    other = path.with_suffix(".new")
    other.write_text("collections: {bbb: }\n")
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.rename(path)
    assert _names(home) == ["bbb"]


def test_the_cache_of_another_home_is_not_believed(home: Home, tmp_path: Path) -> None:
    _write(home, "collections: {aaa: }\n")
    config.load(home)
    other = Home(str(tmp_path / "other"))
    other.make()
    Path(other.state, "config.cache").write_bytes(Path(home.state, "config.cache").read_bytes())
    assert "aaa" not in _names(other)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=80) | st.tuples(st.integers(0, 150), st.integers(0, 255)))
def test_a_damaged_cache_is_made_anew(home: Home, damage: bytes | tuple[int, int]) -> None:
    _write(home, "collections: {notes: {path: /n}}\n")
    cache = Path(home.state, "config.cache")
    cache.unlink(missing_ok=True)
    _names(home)
    if isinstance(damage, bytes):
        cache.write_bytes(damage)
    else:
        cache.write_bytes(cache.read_bytes()[: damage[0]] + bytes([damage[1]]))
    assert config.load(home).collections["notes"].path == "/n"


@pytest.mark.parametrize("data", [None, [], {}, {"collections": None}, {"collections": {"a": 5}}])
def test_a_cache_with_the_right_key_and_other_content_is_made_anew(home: Home, data: object) -> None:
    path = _write(home, "collections: {notes: }\n")
    _names(home)
    cache = Path(home.state, "config.cache")
    stored = jsonio.loads(cache.read_text(encoding="utf-8"))
    assert isinstance(stored, dict)
    assert stored["key"][1] == str(path)
    cache.write_text(jsonio.dumps({"key": stored["key"], "data": data}), encoding="utf-8")
    assert _names(home) == ["notes"]


def test_a_home_that_cannot_be_written_still_answers(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(files, "write_atomic", refuse)
    assert "brain" in _names(home)
    assert os.listdir(home.state) == []


def test_a_home_that_does_not_exist_answers_and_stays_so(tmp_path: Path) -> None:
    assert "brain" in _names(Home(str(tmp_path / "none")))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("collections:\n  a: [\n", ":3: "),
        ("collections: {a: }\n\tb: 1\n", ":2: "),
        ("collections:\n  a: {path: /x}\n  b:\n  a: {path: /y}\n", ":4: the key 'a' is here twice"),
        ("ask: {serve: off}\ncollections: {a: }\nask: {rerank: true}\n", ":3: the key 'ask' is here twice"),
        ("\x00", "not YAML"),
        (b"collections: \xff", "not YAML"),
        ("", "expected a mapping"),
        ("- a\n", "expected a mapping"),
        ("x: 1\n", "unknown key 'x'"),
        ("ask: {}\n", "at least one collection"),
        ("collections: []\n", "at least one collection"),
        ("collections: {}\n", "at least one collection"),
        ("collections: {5: }\n", "5 is no collection name"),
        ("collections: {a/b: }\n", "'a/b' is no collection name"),
        ("collections: {.a: }\n", "'.a' is no collection name"),
        ('collections: {"a\\nb": }\n', "is no collection name"),
        ("collections: {a: b}\n", "'a' must be a mapping"),
        ("collections: {a: {mask: x}}\n", "unknown key 'mask'"),
        ("collections: {a: {path: 5}}\n", "path has the wrong type"),
        ("collections: {a: {ignore: x}}\n", "ignore has the wrong type"),
        ("collections: {a: {ignore: [5]}}\n", "ignore must be a list of globs"),
        ("collections: {a: {includeByDefault: 'no'}}\n", "includeByDefault has the wrong type"),
        ("collections: {a: {trust: me}}\n", "trust must be one of"),
        ("collections: {a: {quota: 0}}\n", "quota must lie in"),
        ("collections: {a: {quota: .nan}}\n", "quota must lie in"),
        ("collections: {a: {quota: 1.1}}\n", "quota must lie in"),
        ("collections: {a: }\nask: [5]\n", "`ask:` must be a mapping"),
        ("collections: {a: }\nserve: off\n", "`serve:` must be a mapping"),
        ("collections: {a: }\ntelemetry: 0\n", "`telemetry:` must be a mapping"),
        ("collections: {a: }\nask: {timeout_s: soon}\n", "timeout_s must be a number"),
        ("collections: {a: }\nask: {timeout_s: -1}\n", "timeout_s must be a number"),
        ("collections: {a: }\nask: {timeout_s: .nan}\n", "timeout_s must be a number"),
        ("collections: {a: }\ngeneration: x\n", "`generation:` must be a mapping"),
        ("collections: {a: }\ngeneration: {provider: gguf}\n", "provider must be one of"),
        ("collections: {a: }\ngeneration: {api_key: x}\n", "unknown key 'api_key'"),
        ("collections: {a: }\ngeneration: {timeout_s: 601}\n", "timeout_s must be a number of seconds"),
        ("collections: {a: }\nsources: x\n", "`sources:` must be a mapping"),
        ("collections: {a: }\nsources: {claude: [x]}\n", "'claude' must be a mapping"),
        ("collections: {a: }\nsources: {claude: {roots: ~/x}}\n", "roots must be a list"),
        ("collections: {a: {path: 2026-13-45}}\n", "a value that YAML cannot hold"),
        ("collections: {a: {path: !!int x}}\n", "a value that YAML cannot hold"),
        ("collections: {a: {path: !!timestamp x}}\n", "a value that YAML cannot hold"),
        ("collections: " + "[" * 1000, "a value that YAML cannot hold"),
        ("collections: {a: !!python/object:os.system x}\n", "could not determine a constructor"),
    ],
)
def test_a_mistake_names_the_file_and_the_fix(home: Home, text: str | bytes, said: str) -> None:
    path = Path(home.path("collections.yml"))
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadInput) as failure:
        config.load(home)
    assert said in failure.value.message
    assert str(path) in failure.value.message
    assert failure.value.fix
    assert not Path(home.state, "config.cache").exists()


def test_a_file_that_cannot_be_read_is_named(home: Home) -> None:
    Path(home.path("collections.yml")).mkdir()
    with pytest.raises(BadInput, match="cannot read"):
        config.load(home)


def test_a_home_that_is_not_made_yet_reads_its_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from core import config_yaml

    parsed: list[str] = []
    parse = config_yaml.parse

    def counted(path: str) -> dict[str, Any]:
        parsed.append(path)
        return parse(path)

    monkeypatch.setattr(config_yaml, "parse", counted)
    home = Home(str(tmp_path / "none"))
    file = tmp_path / "none" / "collections.yml"
    file.parent.mkdir()
    file.write_text("collections: {a: }\n", encoding="utf-8")
    assert _names(home) == _names(home) == ["a"]
    file.write_text("collections: {a: , bb: }\n", encoding="utf-8")
    assert _names(home) == ["a", "bb"]
    assert len(parsed) == 2
