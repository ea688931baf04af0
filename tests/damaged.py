"""What may have become of a file of state: cut off, emptied, of another shape, no text."""

from __future__ import annotations

JSON = (b"", b"{", b"[]", b"null", b'{"schema": 1}', b"\xff\xfe\xfa", b"[" * 99999)
