"""Roo Code: ``tasks/<id>/`` in an editor's global storage, as Cline has it.

Formats: ``ingest.sources.cline.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.sources.cline.source import Cline


class Roo(Cline):
    """Tasks of Roo Code."""

    name = "roo"
    prefix = "roo__"
    roots = ROOTS["roo"]
    resume = RESUME["roo"]


SOURCE = Roo()
