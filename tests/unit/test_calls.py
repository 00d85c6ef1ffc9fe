"""The table of calls: what each asks of its caller (D-6)."""

import pytest

from moothall.errors import NotAllowed
from moothall.surfaces.api.method import Caller, Method
from moothall.surfaces.api.methods import TABLE, TOOLS

SESSION_NAMES = {"deliberationId", "sessionId", "decisionId", "conference"}
LISTS = {
    "cstp.listDeliberations",
    "moot.listSessions",
    "moot.listProtocols",
    "moot.listDemos",
    "moot.listConferences",
    "cstp.searchDecisions",
}
"""Calls that look at no one session and leave out what a bound token may not see."""


@pytest.mark.parametrize("name", TABLE)
def test_every_call_is_of_one_session_or_refused_to_a_token_that_is_for_one(name: str) -> None:
    method: Method[object, object] = TABLE[name]  # type: ignore[type-var]
    names = set(method.input_schema().get("properties", {}))
    assert method.needs_unbound_token or names & SESSION_NAMES or name in LISTS


@pytest.mark.parametrize(
    "name", [name for name, method in TABLE.items() if method.needs != "read" and not method.waits]
)
def test_what_changes_something_is_refused_to_an_observer(name: str) -> None:
    with pytest.raises(NotAllowed):
        Caller(role="observer").check(TABLE[name].needs)


def test_only_waiting_may_be_broken_off() -> None:
    waiting = {
        "cstp.waitForTurn",
        "moot.getAsks",
        "moot.joinConference",
        "moot.consult",
        "moot.swarmRound",
    }
    assert {name for name, method in TABLE.items() if method.waits} == waiting


def test_every_tool_says_what_it_does() -> None:
    assert all(len(method.summary) > 20 for method in TOOLS.values())
