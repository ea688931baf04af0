"""How results are written: JSON, CSV, XML as qmd 2.8.3 writes them, byte for byte."""

from __future__ import annotations


def csv_field(value: object) -> str:
    """One field of CSV; quoted where it holds a comma, a quote or a newline, empty for None."""
    text = "" if value is None else str(value)
    if "," in text or '"' in text or "\n" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def xml_text(text: str) -> str:
    """``text`` with XML's five marks as entities."""
    for mark, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&apos;")):
        text = text.replace(mark, entity)
    return text
