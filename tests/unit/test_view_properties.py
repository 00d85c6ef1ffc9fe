"""The view of a session that is folded on entry by entry, against one that is built anew (W-9)."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.test_consultation_properties import CONTRACTS

from moothall.app.protocols import find_plugin
from moothall.app.session_reader import FoldedSession
from moothall.domain.facts import Entry
from moothall.domain.safe_text import dump_json
from moothall.domain.session_state import build_session_state
from moothall.engine.snapshot import Snapshot
from moothall.surfaces.api.page import advance_view, build_changes
from moothall.surfaces.api.session_view import SessionView, build_view, encode_item
from moothall_testkit.rulebook_contract import PlayedSession, play_session

FEW = settings(
    max_examples=4,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)


def list_snapshots(played: PlayedSession) -> list[Snapshot]:
    """The snapshot after each entry."""
    last = played.snapshot
    first, *rest = played.entries
    state = last.session_state
    found = [
        last._replace(
            session_state=build_session_state(first, state.opened),
            state=last.rules.initial(state.opened),
        )
    ]
    for entry in rest:
        found.append(found[-1].apply_entry(entry, b""))
    return found


def build_anew(snapshot: Snapshot, entries: list[Entry]) -> SessionView:
    plugin = find_plugin(snapshot.session_state.opened)
    folded = FoldedSession(plugin, snapshot, plugin.timeline(snapshot.session))
    folded.add(snapshot, entries)
    return build_view(folded)


@pytest.mark.parametrize("name", CONTRACTS)
@FEW
@given(data=st.data())
def test_a_view_that_is_carried_on_is_the_view_that_is_built_anew(
    name: str, data: st.DataObject
) -> None:
    """W-9: after every entry of every protocol; and whoever adds up the changes has the same items."""
    played = play_session(CONTRACTS[name], data)
    entries, snapshots = list(played.entries), list_snapshots(played)
    plugin = find_plugin(played.opened)
    folded = FoldedSession(plugin, snapshots[0], plugin.timeline(played.snapshot.session))
    stored: SessionView | None = None
    shown: dict[int, object] = {}
    for at, (entry, snapshot) in enumerate(zip(entries, snapshots, strict=True), 1):
        folded.add(snapshot, [entry])
        view, anew = build_view(folded), build_anew(snapshot, entries[:at])
        assert view == anew
        before, stored = stored, advance_view(stored, view)
        if before is None:
            shown = {place: encode_item(item) for place, item in enumerate(view.items)}
            continue
        changed = build_changes(before, stored).get("timeline", {"total": len(shown), "items": []})
        shown |= dict(changed["items"])
        shown = {place: item for place, item in shown.items() if place < changed["total"]}
        assert dump_json([shown[place] for place in range(len(view.items))]) == dump_json(
            [encode_item(i) for i in anew.items]
        )
