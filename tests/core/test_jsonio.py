from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import jsonio

ROOT = Path(__file__).resolve().parents[2]

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_TEXT, inner, max_size=5),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_printed_is_json_of_the_value_on_one_line(value: Any) -> None:
    text = jsonio.dumps(value)
    assert "\n" not in text
    assert json.loads(text) == value


@given(VALUES)
def test_what_was_printed_is_read_as_it_was(value: Any) -> None:
    assert jsonio.loads(f" \n{jsonio.dumps(value)}\t") == value


@given(st.text(max_size=20) | st.text('[]{}",:0123456789.-+eE\\/bfnrtuNaIinyl \t', max_size=20))
def test_what_is_read_is_what_any_reader_would_read(text: str) -> None:
    try:
        value = jsonio.loads(text)
    except ValueError:
        with pytest.raises(ValueError, match=r".*"):
            jsonio.dumps(json.loads(text, parse_constant=_refused))
        return
    assert json.dumps(value) == json.dumps(json.loads(text))


def _refused(constant: str) -> None:
    raise ValueError(constant)


def test_what_is_broken_is_a_value_error_also_where_nobody_has_loaded_json() -> None:
    code = """if True:
        import sys
        from core import jsonio
        whole = jsonio.dumps({"a": [1, 2.5, {"b": None, "é": "x\\n"}], "c": True})
        for end in range(len(whole)):
            assert "json" not in sys.modules
            try:
                jsonio.loads(whole[:end])
            except ValueError:
                for name in [name for name in sys.modules if name.partition(".")[0] == "json"]:
                    del sys.modules[name]
            else:
                sys.exit(f"{whole[:end]} was read")
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


_NO_JSON = {
    "none": "",
    "space": " ",
    "open": "{",
    "more": '{"a": 1} {',
    "two": "1 2",
    "nul": "nul",
    "nan": "NaN",
    "infinity": "[Infinity]",
    "negative": "-Infinity",
    "line": '"a\nb"',
    "deep": "[" * 200_000,
    "letter": "é",
    "large": "1e999",
    "half": '"\\ud800"',
}


@pytest.mark.parametrize("text", list(_NO_JSON.values()), ids=list(_NO_JSON))
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        jsonio.loads(text)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [{"a": float("-inf")}]], ids=str)
def test_numbers_that_json_has_not_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        jsonio.dumps(value)


def test_a_lone_surrogate_is_refused_not_garbled() -> None:
    with pytest.raises(UnicodeEncodeError):
        jsonio.dumps({"a": "\ud800"})


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object()])
def test_other_types_are_refused(value: object) -> None:
    with pytest.raises(TypeError):
        jsonio.dumps([value])
