"""One file alone bears on the units that a whole run would let it bear on, and on no more."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from core.home import Home
from ingest.pipeline.run import _Scope
from ingest.pipeline.state import State, UnitRow
from ingest.session import units
from ingest.session.units import split_key, unit_key

# Letters that fold into others, in ASCII and out of it (long s and the Kelvin sign fold into ASCII).
_IDS = st.text("aAbsſkKéÉ-_%*[", min_size=1, max_size=3) | st.sampled_from(["agent-a", "agent-A", "Agent-s"])
_UNITS = st.builds(unit_key, _IDS, _IDS | st.just(""))


def _ids(unit: str) -> set[str]:
    session, agent = split_key(unit)
    return {part.casefold() for part in ((agent, f"agent-{agent}") if agent else (session,))}


@given(st.sets(_UNITS, min_size=1, max_size=12), _UNITS)
def test_a_file_bears_on_its_session_its_agents_and_whoever_shares_their_names(known: set[str], unit: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Home(str(Path(folder, "home")))
        home.make()
        state = State(home)
        try:
            state.save("claude", units=[UnitRow(each, f"{each}.md", "", 1, "", 0) for each in known])
            state.save("codex", units=[UnitRow(unit, "other.md", "", 1, "", 0)])
            found = set(_Scope(state, "claude", "/nowhere.jsonl", unit).units("claude"))
        finally:
            state.close()
    near = [each for each in known if split_key(each)[0] == split_key(unit)[0]]
    ids = set().union(*(_ids(each) for each in (unit, *near)))
    assert found == {each for each in known if not ids.isdisjoint(_ids(each))}
    # What this is for: the names are those that all units together would have.
    if unit in known:
        assert units.assign(found)[unit] == units.assign(known)[unit]
