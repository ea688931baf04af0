"""Versions of dependencies, now and at a moment, in each form of file that names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.work.dependencies import _FORMS, Dependencies, versions
from tests.runtime.explaining.test_trace import git

TEXTS = {
    "uv.lock": '[[package]]\nname = "Rich.Text"\nversion = "13.1"\nsource = { registry = "https://pypi.org" }\n\n'
    '[[package]]\nname = "api"\nversion = "0.2.0"\nsource = { editable = "." }\n',
    "Cargo.lock": '[[package]]\nname = "api"\nversion = "0.2.0"\ndependencies = [\n "serde",\n]\n\n'
    '[[package]]\nname = "serde"\nversion = "1.0.1"\nsource = "registry+https://github.com/rust-lang/crates.io-index"\n',
    "package-lock.json": '"node_modules/@scope/pkg": {\n  "version": "2.0.0",\n}, "left-pad": {"version": "1.3.0"}',
    "yarn.lock": '"@scope/pkg@^2.0.0":\n  version "2.0.1"\n\nleft-pad@1.x, left-pad@^1:\n  version "1.3.0"\n',
    "pnpm-lock.yaml": "packages:\n\n  '@scope/pkg@2.0.0':\n    resolution: {}\n  /left-pad@1.3.0:\n    dev: true\n",
    "requirements.txt": "rich[jupyter]==13.1 ; python_version > '3'\n# six==1\nsix==1.16.0 \\\n    --hash=sha256:00\n",
    "go.mod": "require (\n\tgithub.com/a/b v1.2.3\n)\nrequire golang.org/x/net v0.1.0\n",
    "Gemfile.lock": "GEM\n  specs:\n    rails (7.1.0)\n      rack (>= 2)\n",
    "package.json": '{"dependencies": {"left-pad": "^1.3.0"}, "name": "x", "version": "2"}',
    "pyproject.toml": 'dependencies = ["rich[x]>=13,<14", "six"]\n',
}
NAMED = {
    "uv.lock": {"rich-text": "13.1"},
    "Cargo.lock": {"serde": "1.0.1"},
    "package-lock.json": {"@scope/pkg": "2.0.0", "left-pad": "1.3.0"},
    "yarn.lock": {"@scope/pkg": "2.0.1", "left-pad": "1.3.0"},
    "pnpm-lock.yaml": {"@scope/pkg": "2.0.0", "left-pad": "1.3.0"},
    "requirements.txt": {"rich": "13.1", "six": "1.16.0"},
    "go.mod": {"github-com/a/b": "v1.2.3", "golang-org/x/net": "v0.1.0"},
    "Gemfile.lock": {"rails": "7.1.0"},
    "package.json": {"left-pad": "^1.3.0"},
    "pyproject.toml": {"rich": ">=13,<14"},
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_names_its_versions(name: str) -> None:
    found = versions(TEXTS[name].replace("\n", "\r\n"), dict(_FORMS)[name])
    assert found == NAMED[name]


@pytest.mark.parametrize("text", ["", "\0\1", "{" * 100_000, 'name = "x"\n' * 10_000, "==" * 50_000, "a@" * 50_000])
def test_a_hostile_file_names_nothing(text: str) -> None:
    for name, form in _FORMS:
        assert versions(text, form) == {}, name


def test_a_version_that_moved_since_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "api"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    lock = folder / "uv.lock"
    lock.write_text('name = "rich"\nversion = "13.1"\nname = "six"\nversion = "1.0"\n')
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    lock.write_text('name = "rich"\nversion = "14.0"\nname = "six"\nversion = "1.0"\n')
    git(folder, "commit", "-q", "-a", "-m", "second", when=1_780_010_000)
    found = Dependencies(str(folder))
    moved = found.moved(["Rich", "six", "walrus"], 1_780_005_000)
    assert moved is not None
    assert [tuple(each) for each in moved] == [("rich", "13.1", "14.0", "uv.lock")]
    assert found.moved(["rich"], 1_780_020_000) == []
    assert found.moved(["walrus"], 1_780_005_000) is None
    (folder / "requirements.txt").write_text("walrus==1.0\nsix==1.0\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "third", when=1_780_030_000)
    later = Dependencies(str(folder))
    assert later.moved(["walrus"], 1_780_020_000) is None, "a file that did not exist then had no version"
    assert later.moved(["six"], 1_780_020_000) == []
    assert found.moved(["rich"], 1_500_000_000) is None
    assert Dependencies(str(tmp_path / "nowhere")).moved(["rich"], 1_780_005_000) is None
