"""Search: terms, lexical retrieval, scoring, snippets and blending."""
