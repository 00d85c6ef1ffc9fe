"""Seats from the agent and skill files that people have, and panels at an address (A-5)."""

from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from moothall.app.panels import (
    Panel,
    assign_seats,
    build_agent_seat,
    load_panel,
    parse_head,
    parse_seat_word,
)
from moothall.app.plugins import load_kinds
from moothall.errors import BadPanel, BadRoster, BadSetting

AGENT = """---
name: security
description: >
  Looks for what an
  attacker would use.
tools: Read, Grep
model: sonnet
---

You review changes. Say what can be attacked.
"""
PANEL = '[[seat]]\nid = "ada"\nplatform = "openai:gpt-5"\ninstructions = "Be brief."\n'


def write_agent(folder: Path, text: str = AGENT) -> str:
    (folder / "security.md").write_text(text, encoding="utf-8")
    return f"agent:{folder / 'security.md'}"


def test_an_agent_file_gives_a_seat_its_words_and_the_session_its_model(tmp_path: Path) -> None:
    """A-5: agent:FILE.md, in words and beside a panel; a model of another maker's naming says nothing here."""
    seat = parse_seat_word(f"sec={write_agent(tmp_path)}")
    assert (seat.platform, seat.stance) == ("", "Looks for what an attacker would use.")
    assert seat.instructions == "You review changes. Say what can be attacked."
    (filled,) = assign_seats(Panel(), [seat], ["openai:gpt-5-mini"], load_kinds())
    assert filled.platform == "openai:gpt-5-mini"


def test_a_model_that_moot_knows_fills_the_seat(tmp_path: Path) -> None:
    """A-5: and the text stands in the place of the panel's own words."""
    seat = parse_seat_word(
        f"ada={write_agent(tmp_path, AGENT.replace('sonnet', 'anthropic:claude-opus-4-5'))}"
    )
    panel = load_panel_text(tmp_path)
    (filled,) = assign_seats(panel, [seat], [], load_kinds())
    assert (filled.platform, filled.instructions) == (
        "anthropic:claude-opus-4-5",
        seat.instructions,
    )


def load_panel_text(folder: Path) -> Panel:
    (folder / "panel.toml").write_text(PANEL)
    return load_panel(str(folder / "panel.toml"), "en", {})


def test_a_panel_file_names_an_agent_file_beside_it(tmp_path: Path) -> None:
    """A-5: its path is resolved against the panel's folder; further instructions follow the agent's own."""
    write_agent(tmp_path)
    (tmp_path / "panel.toml").write_text(PANEL.replace("openai:gpt-5", "agent:security.md"))
    (seat,) = load_panel(str(tmp_path / "panel.toml"), "en", {}).seats
    assert seat.instructions == "You review changes. Say what can be attacked.\n\nBe brief."


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("You review.", "expected a head between two lines of ---"),
        ("---\nname: x\n---\n\n", "has no instructions"),
        ("---\nname: x\n---\n" + "x" * 8_001, "at most 8000 characters"),
    ],
)
def test_a_file_that_is_no_agent_is_refused_in_a_sentence(
    tmp_path: Path, text: str, why: str
) -> None:
    """A-5: with what was expected."""
    with pytest.raises(BadRoster, match=why):
        build_agent_seat("ada", write_agent(tmp_path, text), Path())
    with pytest.raises(BadRoster, match="cannot be read: No such file"):
        build_agent_seat("ada", "agent:nothing.md", tmp_path)


def test_a_head_may_hold_quotes_lists_and_anything_else() -> None:
    rows = parse_head('name: "x"\ntools:\n  - Read\n  - Grep\n: odd\ncolor: red\n[]')
    assert (rows["name"], rows["color"], rows["tools"]) == ("x", "red", "- Read - Grep")


def test_a_panel_at_an_address_is_pinned_by_its_hash() -> None:
    """A-5: fetched only where the network is allowed, refused without a hash, with another one, and with programs in it."""
    bodies = {
        "/good.toml": PANEL.encode(),
        "/runs.toml": PANEL.replace("openai:gpt-5", "command:claude").encode(),
    }

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(bodies[self.path])

        def log_message(self, *words: object) -> None:
            pass

    allowed = {"MOOT_FETCH": "on"}
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{site.server_address[1]}"
        good, runs = (
            f"{base}{path}#sha256={sha256(body).hexdigest()}" for path, body in bodies.items()
        )
        assert load_panel(good, "en", allowed).seats[0].platform == "openai:gpt-5"
        with pytest.raises(BadSetting, match="MOOT_FETCH=on"):
            load_panel(good, "en", {})
        with pytest.raises(BadPanel, match="expected ADDRESS#sha256=HASH"):
            load_panel(f"{base}/good.toml", "en", allowed)
        with pytest.raises(BadPanel, match="another than the one that is pinned"):
            load_panel(f"{base}/good.toml#sha256={'0' * 64}", "en", allowed)
        with pytest.raises(BadPanel, match="names a file or a program"):
            load_panel(runs, "en", allowed)
        site.shutdown()
