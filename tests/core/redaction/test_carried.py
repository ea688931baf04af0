"""Keys and tokens that go on: in the next line, the next text of a list, the next record of a file."""

from __future__ import annotations

import base64
import io
import json
import random
from itertools import pairwise
from typing import Any

import pytest

from core.redaction import automaton, clean_document, redact
from ingest.raw.records import Records
from tests.core.redaction.test_pem import CUTS, _drawn, _framed, _key
from tests.tables import every

_FRAMES = ("{line}\n", "{n:>6}→{line}\n", "> {line}\n", "{line}\\n", "2026-03-12T10:04:{t}.1Z {line}\n", "+{line}\r\n")


def _lines(texts: list[Any]) -> list[str]:
    """Return the kept bytes of each record; the one field of each is one of ``texts``."""
    raw = b"".join(json.dumps({"n": n, "content": text}).encode() + b"\n" for n, text in enumerate(texts))
    held: list[bytes] = []
    found = [item[1]["content"] for item in Records(io.BytesIO(raw), "x", sink=held.append) if isinstance(item, tuple)]
    assert [json.loads(line)["content"] for line in held] == found
    return [json.dumps(each) for each in found]


@pytest.mark.parametrize("frame", _FRAMES)
@pytest.mark.parametrize("cuts", [(4, 8), (1, 9), (2, 4, 6, 8), (3,)])
def test_a_key_that_is_read_in_pieces_is_in_no_record(frame: str, cuts: tuple[int, ...]) -> None:
    key = _key(5, "RSA ", 12)
    places = [0, *cuts, len(key)]
    texts: list[str] = []
    for low, high in pairwise(places):
        texts += ["What next?", _framed(frame, key[low:high], low + 1), "I read the next part."]
    cleaned = "".join(_lines(texts))
    assert not [line for line in key if not line.startswith("-----") and line[:14] in cleaned]
    assert cleaned.count("What next?") == len(texts) // 3


@every(_FRAMES, CUTS)
def test_a_key_is_found_as_well_behind_another_that_has_not_ended(frame: str, cut: str) -> None:
    key = _key(9, "EC ")[CUTS[cut]]
    texts = ["\n".join(_key(1, "")[:4]), _framed(frame, key)]
    cleaned = _lines(texts)[1]
    assert not [line for line in key if not line.startswith("-----") and line[:12] in cleaned]


@pytest.mark.parametrize("size", [200, 333, 500])
def test_a_key_that_is_read_by_bytes_is_in_no_record(size: int) -> None:
    key = "\n".join(_key(6, "", 20))
    texts = [key[at : at + size] for at in range(0, len(key), size)]
    cleaned = "".join(_lines(texts))
    assert not [line for line in key.split("\n")[1:-1] if line[-20:] in cleaned or line[:20] in cleaned]


@pytest.mark.parametrize("frame", ["{line}", "+{line}", "-{line}", '"{line}\\n",', "  {line}"])
def test_a_key_whose_lines_are_a_list_is_in_no_text_of_it(frame: str) -> None:
    key = [frame.format(line=line) for line in _key(8, "EC ", 5)]
    value = {"structuredPatch": [{"lines": ["@@ -1 +1 @@", *key, " after"]}]}
    cleaned = clean_document(json.dumps(value).encode(), {})
    assert not [line for line in _key(8, "EC ", 5)[1:6] if line[:14].encode() in cleaned]
    assert json.loads(cleaned)["structuredPatch"][0]["lines"][-1] == " after"


_STARTS = {
    "PKCS #1": "MIIEpAIBAAKCAQEA",
    "PKCS #8": "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
    "PKCS #8, encrypted": "MIIFHDBOBgkqhkiG9w0BBQ0wQTAp",
    "SEC 1": "MHcCAQEEI",
    "SEC 1, P-384": "MIGkAgEBBDA",
    "PKCS #8, P-256": "MIGHAgEAMBMGByqGSM49",
    "OpenSSH": "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU",
}


@every(_STARTS, _FRAMES)
def test_a_body_without_its_mark_is_known_by_how_it_begins(kind: str, frame: str) -> None:
    body = [f"{_STARTS[kind]}{_drawn(2, 64)}"[:64], *(_drawn(seed, 64) for seed in (3, 4))]
    text = f"$ sed -n 2,4p it.pem\n{_framed(frame, body)}"
    cleaned, counts = redact(text)
    assert not [line for line in body if line[:14] in cleaned]
    assert counts == {"private-key": 1}
    assert automaton.suspects(json.dumps(text).encode())


def _jwt(seed: int) -> str:
    draw = random.Random(seed)
    subject = f"user-{draw.randrange(10**9)}@mail.example"
    segments = ({"alg": "HS256", "typ": "JWT"}, {"sub": subject, "iat": 1760000000, "aud": "https://api.example/v2"})
    head = ".".join(base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in segments)
    return f"{head}.{''.join(draw.choices('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', k=43))}"


@every([*_FRAMES[:4], _FRAMES[5], "# {line}\n", "  {line}\n", '"{line}" +\n', "{line}\\\n"], [30, 40, 64, 76, 100])
def test_a_token_that_is_broken_into_lines_is_found(frame: str, width: int) -> None:
    for seed in range(5):
        token = _jwt(seed)
        lines = [token[at : at + width] for at in range(0, len(token), width)]
        text = f"token:\n{_framed(frame, lines)}\nand some words after it\n"
        cleaned, _ = redact(text)
        assert not [line for line in lines if len(line) > 12 and line in cleaned], cleaned
        assert cleaned.endswith("\nand some words after it\n")
        assert automaton.suspects(json.dumps(text).encode())


def test_a_token_that_goes_on_in_the_next_result_is_in_neither() -> None:
    for cut in (80, 110, 150, 170):
        cleaned = _lines(["$ show", _jwt(4)[:cut], _jwt(4)[cut:] + "\n$ exit"])
        assert _jwt(4)[cut : cut + 12] not in "".join(cleaned)
        assert cleaned[2].endswith('$ exit"')


def test_a_token_that_goes_on_is_found_in_each_field_that_it_was_in() -> None:
    parts = (_jwt(4)[:90], _jwt(4)[90:])
    raw = b"".join(json.dumps({"content": part, "result": {"stdout": part}}).encode() + b"\n" for part in parts)
    found = [item[1] for item in Records(io.BytesIO(raw), "x") if isinstance(item, tuple)]
    assert found[1] == {"content": "[redacted:jwt]", "result": {"stdout": "[redacted:jwt]"}}


@pytest.mark.parametrize(
    "texts",
    [
        [_jwt(1), "toolu01AbCdEf23GhIjKl45MnOp"],
        [_jwt(1), "JWT 12 is fine", _drawn(9, 64)],
        [f"{_jwt(2)}\ninternationalization2Of\nMoreWords12"],
        ["a key begins with -----BEGIN PRIVATE KEY----- and ends", _drawn(1, 64)],
        ["\n".join(_key(1, "")), _drawn(1, 64)],
        ["\n".join(_key(1, "")[:4]), f"-----BEGIN CERTIFICATE-----\n{_drawn(1, 64)}\n-----END CERTIFICATE-----"],
        ["\n".join(_key(1, "")[:4]), "sha256 " + "9fceb02d" * 8, _drawn(2, 88), _drawn(3, 76), "toolu_01AbCdEf23GhIj"],
        ["\n".join(_key(1, "")[:4]), *["words"] * 60, _drawn(1, 64)],
        ["grep 'BEGIN PRIVATE KEY-----'", "req011CQabcdefGH12", "9fceb02d" * 8],
        ["MIIDXTCCAkWgAwIBAgIJAJC1HiIAZAiIMA0GCSqGSIb3DQEBCwUAMEUxCzAJBgNV"],
        ["MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo"],
        ["AAAAB3NzaC1yc2EAAAADAQABAAABAQC7VJTUt9Us8cKjMzEfYyjiWA4R4/M2bS1GB4"],
    ],
)  # fmt: skip
def test_what_only_follows_a_key_or_a_token_stays(texts: list[str]) -> None:
    assert [json.loads(each) for each in _lines(texts)][1:] == texts[1:]
    for text in texts[1:]:
        assert redact(text) == (text, {})
