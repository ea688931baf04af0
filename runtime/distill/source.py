"""A session's document as distillation takes it, and the distilled one that it becomes."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from os.path import join
from typing import TYPE_CHECKING, Any

from core import document, redaction
from core.document import Timestamp
from core.errors import BadInput
from core.files import read_or_none
from ingest.policy.exclusions import SYNTHETIC_PROMPT

if TYPE_CHECKING:
    from core.config import Config
    from runtime.distill.distillate import Distillate

DISTILLED = "distilled"
SESSIONS = "brain"
# Every prompt of ours begins with it. A transcript that holds it there is the distiller's own, and no memory.
MARKER = f"{SYNTHETIC_PROMPT} brain-distill-request"
_FIRST = re.compile(r"(?m)^## \[1\] .*\n+(.*)$")


@dataclass(frozen=True, slots=True)
class Source:
    """One document: ``hash`` is the SHA-256 of its text, as the index has it; ``body`` is without frontmatter."""

    collection: str
    path: str
    hash: str
    meta: dict[str, Any]
    body: str

    @property
    def uri(self) -> str:
        """What it is called everywhere."""
        return f"qmd://{self.collection}/{self.path}"

    @property
    def title(self) -> str:
        """Its title, or its name."""
        return str(self.meta.get("title") or self.path.removesuffix(".md"))

    @property
    def is_synthetic(self) -> bool:
        """Whether no person had this session: one that is labelled so, or the distiller's own with a model."""
        if self.meta.get("synthetic") is True:
            return True
        first = _FIRST.search(self.body)
        return first is not None and first[1].startswith(MARKER)


def file_of(config: Config, collection: str, path: str) -> str:
    """The absolute path of a document. Raises BadInput where its collection is not configured."""
    folder = config.collections.get(collection)
    if folder is None:
        raise BadInput(f"there is no collection {collection!r}", f"add it to {config.own}")
    return join(folder.path, path)


def digest(data: bytes) -> str:
    """The hash that the index has of a document with these bytes."""
    return hashlib.sha256(data.decode("utf-8", "replace").encode()).hexdigest()


def load(config: Config, collection: str, path: str) -> Source | None:
    """The document, None where it is gone. Raises BadInput, OSError."""
    data = read_or_none(file_of(config, collection, path))
    if data is None:
        return None
    meta, body = document.split(data.decode("utf-8", "replace"))
    return Source(collection, path, digest(data), meta, body)


def known(config: Config, path: str) -> dict[str, Any]:
    """The frontmatter of the distilled document of that name, empty where there is none."""
    data = read_or_none(file_of(config, DISTILLED, path))
    return {} if data is None else document.split(data.decode("utf-8", "replace"))[0]


def changed(config: Config, source: Source) -> bool:
    """Whether the document is another one by now, or gone."""
    data = read_or_none(file_of(config, source.collection, source.path))
    return data is None or digest(data) != source.hash


def compose(source: Source, found: Distillate, distiller: str, model: str, tokens: int, centrality: str = "") -> bytes:
    """The distilled document: the source's frontmatter and where this one is from, then the statements.

    ``tokens`` is what a model was sent and said, 0 for none. What looks like a secret is replaced here too: a model may
    put together what the redaction of the source took apart.
    """
    meta = {
        key: Timestamp(value) if key in ("date", "ended") and isinstance(value, str) else value
        for key, value in source.meta.items()
    }
    meta |= {
        "distiller": distiller,
        "distiller_model": model or None,
        "distiller_tokens": tokens or None,
        "distiller_centrality": centrality or None,
        "source_uri": source.uri,
        "source_hash": source.hash,
        "tags": found.tags,
    }
    body, _ = redaction.redact(found.body(source.title))
    return document.render(meta, body)


def names(config: Config, collection: str) -> list[str]:
    """The documents of a collection, regular files, by name. Raises BadInput where it is not configured."""
    top = file_of(config, collection, "")
    found = []
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        relative = os.path.relpath(folder, top)
        found += [
            name if relative == "." else join(relative, name)
            for name in sorted(files)
            if name.endswith(".md") and not name.startswith(".") and os.path.isfile(join(folder, name))
        ]
    return found
