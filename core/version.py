"""Versions that decide when derived data must be rebuilt.

``VERSION`` is the product's. A bump of ``PARSER`` re-normalises every source. A bump of ``DOCUMENT`` rewrites the
markdown. A bump of ``INDEX`` rebuilds the ``brain_…`` tables. A bump of ``REDACTION``, the number of the policy in
``core.redaction``, reads every source again and goes through the corpus.
"""

VERSION = "0.1.0"
PARSER = 8
DOCUMENT = 4
INDEX = 11
REDACTION = 21
