"""Which tools each role is shown, and how calls read what models send (D-5, D-6)."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from moothall.app.session_options import list_public_options
from moothall.errors import BadSetting, SessionClosed
from moothall.surfaces.api.deliberation import OpenParams, _spell_fields
from moothall.surfaces.api.errors import explain_to_client
from moothall.surfaces.api.fields import ParticipantIn
from moothall.surfaces.api.method import Caller
from moothall.surfaces.api.methods import TABLE, TOOLS
from moothall.surfaces.api.shapes import ContributeParams
from moothall.surfaces.api.toolsets import (
    ALL_TOOLS,
    MAX_TOKENS,
    MAX_TOOLS,
    SEAT_TOOLS,
    SESSION_OBSERVER_TOOLS,
    SESSION_OWNER_TOOLS,
    describe_tools,
    estimate_tokens,
    select_seat_tools,
)
from moothall.surfaces.cli.tools import RoleTools, list_roles, tools

ROLES = [role for role in list_roles() if role.tools != ALL_TOOLS]


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.role)
def test_no_role_is_shown_more_than_an_agent_can_read(role: RoleTools) -> None:
    """D-5: at most eight tools and three thousand tokens."""
    assert role.count == len(set(role.tools)) <= MAX_TOOLS
    assert role.tokens <= MAX_TOKENS


@pytest.mark.parametrize("kind", SEAT_TOOLS)
def test_a_role_is_shown_only_what_it_may_call(kind: str) -> None:
    """D-6: and nothing that is refused to a token for one session."""
    shown = {
        "seat": select_seat_tools(kind, has_consultations=True),
        "observer": SESSION_OBSERVER_TOOLS[kind],
        "owner": SESSION_OWNER_TOOLS[kind],
    }
    for role, names in shown.items():
        for name in names:
            Caller(role=role, session="s").check(TOOLS[name].needs)  # type: ignore[arg-type]
            assert not TOOLS[name].needs_unbound_token, (role, name)


def test_a_seat_is_not_asked_for_what_its_token_says() -> None:
    """D-5: neither for its session nor for its name, and it may give them all the same."""
    for kind in SEAT_TOOLS:
        for tool in describe_tools(select_seat_tools(kind, has_consultations=True), "seat"):
            schema = tool["inputSchema"]
            told = {"sessionId", "deliberationId", "conference", "participant", "seat", "role"}
            assert not told & set(schema["properties"]), tool["name"]
            assert not told & set(schema.get("required", [])), tool["name"]
            assert schema.get("additionalProperties") is not False


def test_tokens_are_counted_from_what_is_sent() -> None:
    found = describe_tools(["contribute"])
    assert estimate_tokens(found) == -(-len(json.dumps(found)) // 4)


def test_the_docs_have_the_list_that_the_command_prints() -> None:
    """D-5: docs/server.md shows the output of `moot access tools`."""
    printed = CliRunner().invoke(tools).stdout
    page = (Path(__file__).resolve().parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
    assert f"```text\n{printed}```" in page


def test_both_spellings_of_a_field_are_accepted_and_empty_ones_are_absent() -> None:
    """D-2: models copy what they read and fill what they do not need."""
    camel = {
        "deliberationId": "s",
        "type": "vote",
        "position": "support",
        "movedBy": 3,
        "refersTo": 2,
    }
    snake = {
        "deliberation_id": "s",
        "type": "vote",
        "position": "support",
        "moved_by": 3,
        "refers_to": 2,
    }
    empty = {
        "participant": "",
        "text": "",
        "choice": None,
        "condition": "",
        "confidence": None,
        "evidence": None,
    }
    plain = ContributeParams.model_validate(camel)
    assert ContributeParams.model_validate(snake) == plain
    assert ContributeParams.model_validate({**camel, **empty}) == plain
    assert plain.participant is None
    opened = OpenParams.model_validate(
        {"topic": "x", "participants": [{"id": "a", "platform": ""}, "b"], "protocol": ""}
    )
    assert opened.protocol == "structured_debate"
    assert opened.participants[0] == ParticipantIn(id="a")


def test_what_must_be_given_is_not_taken_for_absent() -> None:
    with pytest.raises(ValueError, match="topic"):
        OpenParams.model_validate({"topic": "", "participants": ["a", "b"]})
    with pytest.raises(ValueError, match="loudly"):
        ContributeParams.model_validate({"deliberationId": "s", "type": "pass", "loudly": ""})


def test_instructions_spell_fields_as_the_tool_does() -> None:
    """D-5: but nobody's words are changed."""
    told = 'Answer: {"refers_to": 3, "moved_by": null}\n| my moved_by stays'
    assert _spell_fields(told) == 'Answer: {"refersTo": 3, "movedBy": null}\n| my moved_by stays'


def test_a_refusal_names_tools_and_no_commands() -> None:
    """D-6: whoever has tools has no shell; at a terminal the command stands beside the sentence."""
    error = BadSetting(
        "'s' is not a swarm", command="use `moot show s`", tool="get_session shows it"
    )
    assert str(error) == "'s' is not a swarm; use `moot show s`"
    assert explain_to_client(error) == "'s' is not a swarm; get_session shows it"
    ended = SessionClosed("session 's' has ended", command="`moot fork` goes on from it")
    assert explain_to_client(ended) == "session 's' has ended"
    assert explain_to_client(BadSetting("nothing to change")) == "nothing to change"
    assert explain_to_client(BadSetting("`moved_by` is 3")) == "`movedBy` is 3"


def test_descriptions_name_tools_and_no_commands() -> None:
    """D-5"""
    methods = {short for name in TABLE if not (short := name.partition(".")[2]).islower()}
    for tool in describe_tools(ALL_TOOLS):
        words = set(json.dumps(tool).replace('"', " ").replace("'", " ").split())
        assert not {word for word in words if word.startswith(("moot.", "cstp."))}, tool["name"]
        assert not methods & words, tool["name"]


def test_agents_are_shown_the_options_that_most_meetings_need() -> None:
    """D-5: the others may be given all the same."""
    rare = {name for name, option in list_public_options().items() if option.is_rare}
    assert {"tools", "tool_calls", "tool_budget", "seed", "patience", "consult_limit"} <= rare
    assert not rare & {"seats", "turns", "time", "money", "language"}
