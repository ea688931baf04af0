"""SQLite's binary form of JSON (https://sqlite.org/jsonb.html), for what an index or a cache keeps and loads at once.

Whoever imports this before anything that needs apsw gets apsw without what it would import besides itself.
"""

from __future__ import annotations

import _collections_abc
import sys

# apsw registers its types with ``collections.abc``, and importing that imports its package and ten modules more, a
# fifth of the interpreter's own start. The name means `_collections_abc`, which is always loaded.
if "collections" in sys.modules:
    import apsw
else:
    sys.modules["collections"] = sys.modules["collections.abc"] = _collections_abc
    try:
        import apsw
    finally:  # whoever wants the package gets the whole of it
        del sys.modules["collections"], sys.modules["collections.abc"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Return a value (dict, list, str, int, finite float, bool, None) as JSONB.
pack: Callable[[object], bytes] = apsw.jsonb_encode
# Return the value of a JSONB blob. Raises ValueError if the blob is none.
unpack: Callable[[bytes], object] = apsw.jsonb_decode
