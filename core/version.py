"""Versions that decide when derived data must be made anew.

``VERSION`` is the product's. A bump of ``PARSER`` re-normalises every source, of ``DOCUMENT`` rewrites the
markdown, of ``INDEX`` rebuilds the tables whose names begin with ``brain_``, of ``REDACTION`` (what is held to be a
secret, ``core.redaction``) reads every source again and goes through the corpus that is there.
"""

VERSION = "0.1.0"
PARSER = 7
DOCUMENT = 2
INDEX = 3
REDACTION = 16
