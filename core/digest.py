"""BLAKE2b without OpenSSL: ``hashlib`` loads OpenSSL, and that takes longer than most of what a hook does."""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # an interpreter that has it elsewhere
    from hashlib import blake2b

__all__ = ["blake2b"]
