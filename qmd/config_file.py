"""Reading and rewriting ``index.yml``: YAML 1.2, as qmd reads it; a change keeps comments, order and foreign keys."""

from __future__ import annotations

import contextlib
import os
import re
from os.path import dirname, exists
from typing import TYPE_CHECKING, Any

import yaml

from core.config_yaml import UniqueKeys
from core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

_TAG = "tag:yaml.org,2002:"


class _Loader(UniqueKeys, yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]
    """YAML 1.2's core schema (https://yaml.org/spec/1.2.2/#103-core-schema): no dates, no ``yes``, no ``0777``."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # the parent's attribute, on purpose its own here


for _name, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
):
    _Loader.add_implicit_resolver(f"{_TAG}{_name}", re.compile(f"^(?:{_pattern})$"), _first)
_Loader.add_constructor(f"{_TAG}int", lambda loader, node: _integer(str(loader.construct_scalar(node))))


def load(path: str) -> dict[str, Any]:
    """Return the file's mapping, keys as text; empty if there is no file. Raises BadInput if it cannot be read."""
    if not exists(path):
        return {}
    try:
        with open(path, encoding="utf-8-sig") as stream:
            data = yaml.load(stream, Loader=_Loader)  # noqa: S506  # a safe loader's subclass
    except (yaml.YAMLError, ValueError, LookupError, TypeError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise BadInput(f"Failed to parse {path}: {reason}", f"edit {path}") from None
    except OSError as error:
        raise BadInput(f"Failed to parse {path}: {error.strerror}", f"check its permissions: ls -l {path}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise BadInput(f"Failed to parse {path}: a mapping was expected", f"edit {path}")
    plain: dict[str, Any] = _plain(data)
    return plain


def change(path: str, edit: Callable[[Any], None], template: str = "") -> None:
    """Let ``edit`` change the file's mapping in place, and write it; ``template`` is read where there is no file.

    Comments, the order of keys, and keys that are not qmd's survive. Raises BadInput if the file cannot be read or
    written.
    """
    import io

    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap
    from ruamel.yaml.error import YAMLError

    engine = YAML()
    engine.preserve_quotes = True
    engine.width = 1 << 30
    engine.indent(mapping=2, sequence=4, offset=2)
    source = path if exists(path) else template
    data: Any = None
    try:
        if source:
            with open(source, encoding="utf-8-sig") as stream:
                data = engine.load(stream)
    except (YAMLError, ValueError) as error:
        raise BadInput(f"Failed to parse {source}: {' '.join(str(error).split())}", f"edit {source}") from None
    except OSError as error:
        raise BadInput(f"Failed to parse {source}: {error.strerror}", f"check: ls -l {source}") from None
    if data is None:
        data = CommentedMap()
    edit(data)
    out = io.BytesIO()
    engine.dump(data, out)
    write(path, out.getvalue())


def quoted(text: str) -> str:
    """Return ``text`` as a value for ``change``: in double quotes where YAML needs quotes, as qmd writes them."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    plain = re.fullmatch(r"[A-Za-z_/][\w ./()+@=-]*", text, re.ASCII) and not text.endswith(" ")
    if plain and text.lower() not in ("true", "false", "null", "yes", "no", "on", "off", "y", "n"):
        return text
    wrapped: str = DoubleQuotedScalarString(text)
    return wrapped


def write(path: str, data: bytes) -> None:
    """Replace the file at once; a symlink to it stays one, and its mode stays what it was. Raises BadInput."""
    target = os.path.realpath(path)
    temporary = f"{target}.{os.getpid()}.tmp"
    try:
        os.makedirs(dirname(target), exist_ok=True)
        mode = os.stat(target).st_mode & 0o777 if exists(target) else 0o644
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.rename(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise BadInput(f"Failed to write {path}: {error.strerror}", f"check: ls -ld {dirname(path)}") from None


def _integer(text: str) -> int:
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {"" if key is None else str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
