"""A shared session as one page: styles within, no script, and a policy by which the browser loads nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from web.markdown import render

if TYPE_CHECKING:
    from runtime.explaining.sharing import Shared

_STYLE = """
:root { color-scheme: light dark; }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.55 system-ui, sans-serif; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: .9rem; }
dt { opacity: .7; } dd { margin: 0; overflow-wrap: anywhere; }
section { border-left: .2rem solid #8888; padding-left: 1rem; margin: 1.5rem 0; }
section.user { border-color: #2a7ae2; }
h2.who { font-size: .95rem; margin: 0 0 .3rem; } h2 time { font-weight: normal; opacity: .7; }
pre { overflow-x: auto; padding: .6rem; background: #8881; border-radius: .3rem; } code { font-size: .9em; }
table { border-collapse: collapse; } td, th { border: 1px solid #8886; padding: .2rem .5rem; }
"""
_PAGE = Markup("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<dl>{facts}</dl>
{turns}
</body>
</html>
""")
_FACT = Markup("<dt>{}</dt><dd>{}</dd>\n")
_TURN = Markup('<section class="{role}">\n<h2 class="who">{role} <time>{when}</time></h2>\n{body}</section>\n')


def page(shared: Shared, withheld: str) -> str:
    """Return a session as HTML; ``withheld`` says in words what is missing."""
    facts = [_FACT.format(name, value) for name, value in {**shared.facts, "withheld": withheld}.items()]
    turns = [
        _TURN.format(role=turn.role, when=turn.when, body=render(turn.text, breaks=turn.role == "user"))
        for turn in shared.turns
    ]
    style = Markup(_STYLE)  # noqa: S704  # a constant
    return str(
        _PAGE.format(title=shared.title, style=style, facts=Markup("").join(facts), turns=Markup("").join(turns))
    )
