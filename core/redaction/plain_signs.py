"""Quotes, colons and equals signs as HTML and East Asian keyboards write them, in ASCII."""

from __future__ import annotations

# Signs between a name and its value as HTML and East Asian keyboards write them.
_WRITTEN = {
    written: sign
    for sign, forms in {
        '"': "&amp;quot; &quot; &#34; &#034; &#x22;",
        "'": "&apos; &#39; &#039; &#x27;",
        ":": "&colon; &#58; &#x3a; &#x3A; \uff1a \ufe55 \u2236",
        "=": "&equals; &#61; &#x3d; &#x3D; \uff1d",
    }.items()
    for written in forms.split()
}


def plain_signs(text: str) -> str:
    """Return ``text`` with quotes, colons and equals signs in ASCII that are written in another way."""
    if "&" in text or not text.isascii():
        for written, sign in _WRITTEN.items():
            if written in text:
                text = text.replace(written, sign)
    return text
