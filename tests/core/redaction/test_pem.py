"""Private keys in text: whole and cut at either end, whatever frames their lines; and what only looks like them."""

from __future__ import annotations

import json
import random

import pytest

from core.redaction import automaton, redact
from tests.tables import every

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

# Text around each line of a key: `{n}` is the line's number, `{t}` a time that goes on, `{line}` the line.
FRAMES = {
    "plain": "{line}\n",
    "CRLF": "{line}\r\n",
    "written line ends": "{line}\\n",
    "JSON in JSON": "{line}\\\\n",
    "CRLF written": "{line}\\r\\n",
    "spaces for line ends": "{line} ",
    "br": "{line}<br/>",
    "added in a diff": "+{line}\n",
    "deleted in a diff": "-{line}\n",
    "deleted in a diff of a diff": "--{line}\n",
    "kept in a diff": " {line}\n",
    "quoted": "> {line}\n",
    "quoted twice": "> > {line}\n",
    "a shell's comment": "# {line}\n",
    "a block's comment": " * {line}\n",
    "a line's comment": "// {line}\n",
    "SQL's comment": "-- {line}\n",
    "cat -n": "    {n:>2}\t{line}\n",
    "nl": "{n:>6}  {line}\n",
    "read by an agent": "{n:>6}→{line}\n",
    "bat": "  {n:>2} │ {line}\n",
    "less -N": "{n:>7} {line}\n",
    "grep -n": "{n}:{line}\n",
    "grep -n -A": "{n}-{line}\n",
    "grep -n of files": "deploy/key.pem:{n}:{line}\n",
    "grep -n -A of files": "deploy/key.pem-{n}-{line}\n",
    "git blame": "9fceb02d (Mira Holm 2026-03-12 10:04:11 +0100 {n:>3}) {line}\n",
    "docker logs -t": "2026-03-12T10:04:{t}.123456789Z {line}\n",
    "docker compose logs": "web-1  | {line}\n",
    "docker compose logs -t": "web-1  | 2026-03-12T10:04:{t}.1Z {line}\n",
    "docker's file": '{{"log":"{line}\\n","stream":"stdout","time":"2026-03-12T10:04:{t}.1Z"}}\n',
    "kubectl logs --prefix": "[pod/web-7d9f8b6c5-x2x9z/web] {line}\n",
    "CRI": "2026-03-12T10:04:{t}.1+01:00 stdout F {line}\n",
    "journald": "Mar 12 10:04:{t} box9 web[4711]: {line}\n",
    "journalctl -o short-iso": "2026-03-12T10:04:{t}+0100 box9 web[4711]: {line}\n",
    "a log": "2026-03-12 10:04:{t},123 [INFO] app.keys: {line}\n",
    "a time in brackets": "[10:04:{t}] {line}\n",
    "GitHub Actions": "deploy\tPrint\t2026-03-12T10:04:{t}.1234567Z {line}\n",
    "gdb": "(gdb) {line}\n",
    "indented": "        {line}\n",
    "tabs": "\t\t{line}\n",
    "a quoted string each": '    "{line}\\n"\n',
    "strings put together": "    '{line}\\n' +\n",
    "strings with a dot": '    . "{line}\\n"\n',
    "C's strings": '"{line}\\n" \\\n',
    "a line that goes on": "{line}\\\n",
    "a list of strings": '      "{line}",\n',
    "YAML's list": "  - {line}\n",
    "Visual Basic": '    "{line}" & vbLf & _\n',
    "a table's cell": "| {line} |\n",
    "HTML's quotes": "&quot;{line}&quot;<br>\n",
}
# How a key begins that is cut, and how its last line ends.
KINDS = ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ")


def _key(seed: int, kind: str, lines: int = 8) -> list[str]:
    draw = random.Random(seed)
    body = ["".join(draw.choices(_ALPHABET, k=64)) for _ in range(lines)]
    # A diff's sign before a line is base64's, too.
    body[2] = "+" + body[2][1:]
    body[4] = "/" + body[4][1:]
    body.append("".join(draw.choices(_ALPHABET, k=26)) + "==")
    return [f"-----BEGIN {kind}PRIVATE KEY-----", *body, f"-----END {kind}PRIVATE KEY-----"]


def _framed(frame: str, lines: list[str], first: int = 1) -> str:
    return "".join(frame.format(n=first + n, t=10 + n, line=line) for n, line in enumerate(lines))


CUTS = {
    "whole": slice(None),
    "end": slice(0, 6),
    "end mark": slice(0, -1),
    "beginning": slice(4, None),
    "begin mark": slice(1, None),
    "all but two lines": slice(0, 2),
    "all but the last two": slice(-3, None),
}


@every(FRAMES, CUTS)
def test_a_key_is_found_whatever_frames_its_lines_also_cut_off_at_either_end(frame: str, cut: str) -> None:
    for seed, kind in enumerate(KINDS):
        key = _key(seed, kind)[CUTS[cut]]
        text = f"$ show\n{_framed(FRAMES[frame], key)}"
        cleaned, counts = redact(text)

        left = [line for line in key if not line.startswith("-----") and line[:12] in cleaned]
        assert not left, cleaned
        assert set(counts) == {"private-key"}
        assert cleaned.startswith("$ show\n")
        assert redact(cleaned) == (cleaned, {})
        assert automaton.suspects(json.dumps(text).encode())


@every(FRAMES)
def test_what_follows_a_key_that_is_cut_off_stays(frame: str) -> None:
    key = _framed(FRAMES[frame], _key(7, "")[:6])
    for after in ("\nThe deploy went on at 10:12.\n", "\nexit code 1\n", "\n\n## Next\n\nsome words\n"):
        assert redact(f"$ head key.pem\n{key}{after}")[0].endswith(after)


@every(FRAMES)
def test_what_comes_before_a_key_that_is_cut_off_stays(frame: str) -> None:
    key = _framed(FRAMES[frame], _key(7, "")[5:], 40)
    for before in ("The deploy went on at 10:12:\n", "$ tail key.pem\n", "src/app/components/navigation\n"):
        assert redact(before + key)[0].startswith(before)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("frame", ["{line}\\n", "{line} ", "{line}\n"])
def test_a_key_is_found_wherever_in_a_long_text_it_is(frame: str, cut: str) -> None:
    for around in ("word, " * 8000, "word,\n" * 8000):
        key = _key(3, "")[CUTS[cut]]
        cleaned, counts = redact(around + "{" + _framed(frame, key) + "}" + around)
        assert not [line for line in key if not line.startswith("-----") and line[:12] in cleaned]
        assert counts == {"private-key": 1}


def _drawn(seed: int, length: int) -> str:
    return "".join(random.Random(seed).choices(_ALPHABET, k=length))


_BODY = "\n".join(_drawn(seed, 64) for seed in range(6))
_BEGIN, _END = "-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----"


@pytest.mark.parametrize(
    "text",
    [
        f"-----BEGIN CERTIFICATE-----\n{_BODY}\n-----END CERTIFICATE-----\n{_END} comes last\n",
        f"{_BEGIN}\n-----BEGIN CERTIFICATE-----\n{_BODY}\n-----END CERTIFICATE-----\n",
        f"-----BEGIN PUBLIC KEY-----\n{_BODY}\n",
        f"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{_BODY}\n-----END PGP PUBLIC KEY BLOCK-----\n",
        f"-----BEGIN CERTIFICATE REQUEST-----\n{_BODY}\n",
        f'grep -rn "{_BEGIN}" .\n./package-lock.json:12:      "integrity": "sha512-{_drawn(3, 86)}==",\n',
        f'+      "integrity": "sha512-{_drawn(3, 86)}==",\n+{_END}\n',
        f'-  resolved "https://r.example/x.tgz#{"0123456789" * 4}"\n-  integrity sha1-{_drawn(4, 27)}=\n-{_END}\n',
        f"![chart](data:image/png;base64,{_drawn(5, 2000)})\n\nA key ends with {_END}.\n",
        f"A key begins with {_BEGIN}.\n\n![chart](data:image/png;base64,{_drawn(5, 2000)})\n",
        f'<img src="data:image/png;base64,{_drawn(6, 900)}">\n<code>{_END}</code>\n',
        f"{'9fceb02d41' * 4}  src/app.py\n{'31e0bd277c' * 4}  src/key.py\n# {_END}\n",
        f'if (line.includes("{_BEGIN}")) {{\n  return parsePrivateKeyWithOptionsAndDefaults2(line);\n}}\n',
        f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{_drawn(8, 43)} mira@box\n{_END}\n",
        f"9fceb02 Tell {_BEGIN} from others\n31e0bd2 Read internationalization/messages2\n",
        f"src/components/navigation2/index\n\n{_END}\n",
    ],
)
def test_what_only_looks_like_a_key_stays(text: str) -> None:
    assert redact(text) == (text, {})


def test_a_hostile_text_of_marks_and_words_costs_what_it_is_long() -> None:
    for text in (_BEGIN * 2000, (_END + "\n") * 2000, (_BEGIN + "\n" + "1 abcd!" * 40 + "\n") * 200):
        assert redact(text) == (text, {})
