"""The environment variables that ``qmd doctor`` names, and what each changes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# What some variables change is the real qmd's only, which may share this machine's settings and index.
_ELSEWHERE = " (in the real qmd: nothing here reads it)"
_APPROVES = "approves what every project's configuration asks for"
_MEANINGS = {
    "INDEX_PATH": "overrides the SQLite index path: another database is read and written",
    "QMD_CONFIG_DIR": "overrides the QMD config directory, whatever XDG_CONFIG_HOME says",
    "XDG_CONFIG_HOME": "moves the configuration into its qmd folder, unless QMD_CONFIG_DIR is set",
    "XDG_CACHE_HOME": "moves the default index cache and the MCP server's PID files into its qmd folder",
    "QMD_EMBED_MODEL": "",
    "QMD_GENERATE_MODEL": "",
    "QMD_RERANK_MODEL": "",
    "QMD_SQLITE_BUSY_TIMEOUT": "how long to wait for another process's lock, in milliseconds",
    "QMD_FORCE_CPU": f"forces llama.cpp to bypass GPU backends{_ELSEWHERE}",
    "QMD_LLAMA_GPU": f"selects llama.cpp's GPU backend{_ELSEWHERE}",
    "QMD_DOCTOR_DEVICE_PROBE": f"0 skips the probing of graphics cards{_ELSEWHERE}",
    "QMD_EMBED_PARALLELISM": f"how many contexts embed side by side{_ELSEWHERE}",
    "QMD_EXPAND_CONTEXT_SIZE": f"how long a question and its expansions may be{_ELSEWHERE}",
    "QMD_RERANK_CONTEXT_SIZE": f"how much text the reranker sees at once{_ELSEWHERE}",
    "QMD_EMBED_CONTEXT_SIZE": f"how much text the embedding model sees at once{_ELSEWHERE}",
    "QMD_EDITOR_URI": "the template of links into an editor",
    "QMD_SKILLS_DIR": "where skills are looked for",
    "QMD_METAL_KEEP_RESIDENCY": f"keeps memory of Metal resident{_ELSEWHERE}",
    "QMD_TRUST_LOCAL_CONFIG": _APPROVES,
    "QMD_TRUST_UPDATE_HOOKS": _APPROVES,
    "NO_COLOR": "no colours",
    "CI": f"disables real LLM operations{_ELSEWHERE}",
    "HF_ENDPOINT": f"changes Hugging Face download endpoint{_ELSEWHERE}",
    "WSL_DISTRO_NAME": f"paths are taken as the Windows Subsystem for Linux has them{_ELSEWHERE}",
    "WSL_INTEROP": f"paths are taken as the Windows Subsystem for Linux has them{_ELSEWHERE}",
}
_SHOWN = 96


def overrides(environ: Mapping[str, str], configured: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """(name, value as shown, what it changes) of each that is set; ``configured`` are the configuration's models."""
    for name, meaning in _MEANINGS.items():
        value = environ.get(name, "").strip()
        if value:
            shown = value if len(value) <= _SHOWN else f"{value[: _SHOWN - 3]}..."
            yield name, shown, meaning or _of_model(name, value, configured)


def _of_model(name: str, value: str, configured: Mapping[str, str]) -> str:
    slot = name.removeprefix("QMD_").removesuffix("_MODEL").lower()
    named = configured.get(slot)
    if named and named != value:
        return f"set but ignored: the configuration's models.{slot} is {named}"
    return f"sets the active {slot} model to {value}"
