"""Frontmatter by the YAML library: what is written that is not plain, and all that is read."""

from __future__ import annotations

from typing import Any

import yaml

# Values that nest deeper than any field of a document does.
_DEEP = 50


class _Dumper(yaml.CSafeDumper if hasattr(yaml, "CSafeDumper") else yaml.SafeDumper):  # type: ignore[misc]
    pass


class _Loader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]
    """Leaves timestamps as the text that was written, so that reading and writing are inverse."""


# ``core.document.Timestamp`` is the one subclass of str in a document's fields.
_Dumper.add_multi_representer(
    str, lambda dumper, value: dumper.represent_scalar("tag:yaml.org,2002:timestamp", str(value))
)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def dump(fields: dict[str, Any]) -> str:
    """``fields`` as a block mapping, in their order."""
    return str(
        yaml.dump(
            fields, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000, default_flow_style=False
        )
    )


def load(head: str) -> dict[str, Any] | None:
    """The mapping that the text between the ``---`` lines is, None where it is none."""
    if _is_deep(head):
        return None
    try:
        meta = yaml.load(head, Loader=_Loader)  # noqa: S506  # a safe loader's subclass
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # The library's constructors raise whatever a value of the wrong kind makes them stumble over (`!!timestamp x`).
        return None
    if meta is None and not head.strip():
        return {}
    return meta if isinstance(meta, dict) else None


def _is_deep(head: str) -> bool:
    """Return True if values nest deeper than any field of a document: libyaml's recursion would end the process."""
    if sum(map(head.count, "[{?-")) < _DEEP:
        return False
    depth = 0
    try:
        for event in yaml.parse(head, Loader=_Loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEP:
                return True
    except yaml.YAMLError:
        return True
    return False
