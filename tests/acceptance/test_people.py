"""People at the door: `moot sit` and human seats in a terminal, mailbox answers in plain text."""

import json
from pathlib import Path

import pytest
from tests.acceptance.doors import (
    Cli,
    Terminal,
    draft,
    listens,
    position,
    speech,
    stand,
    until,
    wants,
    write_script,
)

DEBATE = {
    seat: {
        "propose": [{"type": "propose", "text": f"{choice}.", "choice": choice, "confidence": 0.8}],
        "vote": [{"type": "vote", "position": "support", "confidence": 0.8}],
    }
    for seat, choice in (("ada", "Postgres"), ("bob", "SQLite"))
}
SUMMARIZER = ("--set", "summarizer=ada")


@pytest.fixture
def debate(cli: Cli) -> str:
    """A debate that waits for eve."""
    platform = write_script(cli.cwd / "debate.toml", DEBATE)
    seats = [word for seat in DEBATE for word in ("--seat", f"{seat}={platform}")]
    options = ["--option", "Postgres", "--option", "SQLite", "--stakes", "high"]
    cli(
        "run",
        "Which?",
        "--protocol",
        "debate",
        *options,
        *seats,
        "--seat",
        "eve=mailbox",
        "--session",
        "d",
        code=3,
    )
    return "d"


def list_facts(cli: Cli, session: str) -> list[dict[str, object]]:
    return [
        json.loads(json.loads(line)["body"])
        for line in cli("export", session, "jsonl").out.splitlines()[1:]
    ]


def test_a_person_sits_down_loses_the_connection_and_finishes_its_sentence(
    cli: Cli, debate: str
) -> None:
    """M-8: asked in turn; a killed terminal keeps answers and draft; the meeting is shown and goes on to its end."""
    with Terminal(cli, "sit", debate, "--seat", "eve") as terminal:
        terminal.wait_for("ada has written; sealed until all have")
        terminal.wait_for("Which answer do you choose?")
        terminal.wait_for("eve>")
        terminal.type("b\r")
        terminal.wait_for("Why? (Enter: just that answer)")
        terminal.type("It is small")
        until(
            lambda: [
                path
                for path in (cli.home / "drafts").glob("*.json")
                if "It is small" in path.read_text("utf-8")
            ]
        )
        terminal.process.kill()
    with Terminal(cli, "sit", debate, "--seat", "eve") as terminal:
        terminal.wait_for("Your draft is in the prompt.")
        terminal.wait_for("eve> b")
        terminal.type("\r")
        terminal.wait_for("Your draft is in the prompt.")
        terminal.wait_for("It is small")
        terminal.type(" enough.\r")
        terminal.wait_for("How sure are you?")
        terminal.type("fairly\r")
        terminal.wait_for("#3 bob proposes")
        terminal.wait_for("Do you support or challenge what is on the table?")
        terminal.type("/pas\r")
        terminal.wait_for("! there is no command /pas here; there are: /pass, /leave")
        terminal.type("/pass\r")
        terminal.wait_for("Write the resolution")
        terminal.type("SQLite\r")
        terminal.wait_for("In full sentences?")
        terminal.type("\r")
        terminal.wait_for("How sure are you?")
        terminal.type("\r")
        terminal.wait_for("Which option do you vote for?")
        terminal.type("SQLote\r")
        terminal.wait_for("did you mean “SQLite”?")
        terminal.type("2\r")
        terminal.wait_for("On a condition?")
        terminal.type("with backups\r")
        terminal.wait_for("By when")
        terminal.type("\r")
        terminal.wait_for("Why?")
        terminal.type("\r")
        terminal.wait_for("(Enter: not stated)")
        terminal.type("\r")
        terminal.wait_for("change your mind?")
        terminal.type("\r")
        assert terminal.ended() == 0
    decided = cli.json("show", debate)
    assert [(each["seat"], each["text"]) for each in decided["obligations"]] == [
        ("eve", "with backups")
    ]
    proposed = next(fact for fact in list_facts(cli, debate) if fact.get("seat") == "eve")
    assert "It is small enough." in json.dumps(proposed)


@pytest.mark.parametrize("typed", ["/leave\r", "\x04"])
def test_leaving_keeps_the_seat_open(cli: Cli, debate: str, typed: str) -> None:
    """M-8: nothing is recorded for the seat, and the same ask waits."""
    before = cli.json("asks", debate)["asks"]
    with Terminal(cli, "sit", debate, "--seat", "eve") as terminal:
        terminal.wait_for("eve>")
        terminal.type(typed)
        terminal.wait_for("You left. The seat stays open: moot sit d --seat eve")
        assert terminal.ended() == 3
    assert cli.json("asks", debate)["asks"] == before


def test_the_up_key_brings_back_what_was_said_in_an_earlier_sitting(cli: Cli, debate: str) -> None:
    """M-8: kept for the seat alone, in a private file whose name is neither a session nor a seat."""
    with Terminal(cli, "sit", debate, "--seat", "eve") as terminal:
        terminal.wait_for("eve>")
        terminal.type("b\r")
        terminal.wait_for("Why? (Enter: just that answer)")
        terminal.type("It is small enough.\r")
        terminal.wait_for("How sure are you?")
        terminal.type("/leave\r")
        assert terminal.ended() == 3
    (kept,) = (cli.home / "history").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "eve" not in kept.name
    assert [json.loads(line) for line in kept.read_text("utf-8").splitlines()] == [
        "It is small enough."
    ]
    with kept.open("a", encoding="utf-8") as file:
        file.write("{broken\n")
    with Terminal(cli, "sit", debate, "--seat", "eve") as terminal:
        terminal.wait_for("eve> b")
        terminal.type("\r")
        terminal.wait_for("Why? (Enter: just that answer)")
        terminal.wait_for("It is small enough.")
        # What stands in the prompt is taken out. Up: `b` of this sitting, then the words of the earlier one.
        terminal.type("\x15\x1b[A\x1b[A")
        terminal.wait_for("It is small enough.")
        terminal.type("\r")
        terminal.wait_for("How sure are you?")
        terminal.type("\r")
        terminal.wait_for("#3 bob proposes")


def test_a_person_sits_at_a_session_that_another_process_runs(cli: Cli) -> None:
    """M-8: the words typed at the bid are the speech; what others write blind is not shown."""
    scene = {
        seat: {
            "position": [position(f"{seat} before the talk")],
            "intent": [listens(0.4)],
            "draft": [draft("Soup.", [1])],
            "stand": [stand()],
        }
        for seat in ("ada", "bob")
    }
    platform = write_script(cli.cwd / "scene.toml", scene)
    seats = ["--seat", f"ada={platform}", "--seat", f"bob={platform}", "--seat", "eve=mailbox"]
    with cli.start("run", "Lunch?", *seats, "--session", "s", "--turns", "1", "--wait") as running:
        running.wait_for("session s")
        until(lambda: cli.json("asks", "s")["asks"])
        with Terminal(cli, "sit", "s", "--seat", "eve") as terminal:
            terminal.wait_for("where do you stand on the question?")
            assert b"before the talk" not in terminal.raw
            terminal.wait_for("eve>")
            terminal.type("Noodles.\r")
            terminal.wait_for("in one to five words")
            terminal.type("noodles\r")
            terminal.wait_for("How sure are you?")
            terminal.type("\r")
            terminal.wait_for("Do you want to say something? (Enter: you listen)")
            terminal.type("Noodles, because\x1b\rthey are quick.\r")
            terminal.wait_for("Where do you stand on this decision?")
            terminal.type("4\r")
            terminal.wait_for("Why?")
            terminal.type("\r")
            terminal.wait_for("change your mind?")
            terminal.type("\r")
            assert terminal.ended() == 0
        assert running.ended().code == 0
    lines = json.loads(cli("export", "s", "context").out)["timeline"]
    assert [(line["speaker"], line["content"]) for line in lines[1:]] == [
        ("eve", "Noodles, because\nthey are quick.")
    ]
    assert [each["choiceBefore"] for each in cli.json("show", "s")["positions"]] == [
        "",
        "",
        "noodles",
    ]


def test_a_human_seat_whose_process_is_gone_is_taken_up_by_sitting_down(cli: Cli) -> None:
    """M-8: Ctrl-D leaves the seat open, also with words in the line, which stay as a draft; `moot sit` runs the session on."""
    platform = write_script(cli.cwd / "scene.toml", {"ada": {"draft": [draft("Soup.", [1])]}})
    words = [
        "run",
        "Lunch?",
        "--seat",
        "me=human",
        "--seat",
        f"ada={platform}",
        "--set",
        "summarizer=ada",
        "--session",
        "s",
    ]
    with Terminal(cli, *words) as terminal:
        terminal.wait_for("Do you want to say something? (Enter: you listen)")
        terminal.wait_for("me>")
        terminal.type("half a thou")
        terminal.wait_for("half a thou")
        terminal.type("\x04")
        terminal.wait_for("resume with: moot resume s")
        assert terminal.ended() == 130
    with Terminal(cli, "sit", "s", "--seat", "me") as terminal:
        terminal.wait_for("half a thou")
        terminal.type("\x15\r")
        terminal.wait_for("Where do you stand on this decision?")
        terminal.type("support\r")
        terminal.wait_for("Why?")
        terminal.type("\r")
        terminal.wait_for("How sure are you?")
        terminal.type("1\r")
        assert terminal.ended() == 0
    stands = cli.json("show", "s")["positions"]
    assert [
        (each["verdict"], each["confidenceAfter"]) for each in stands if each["seat"] == "me"
    ] == [("support", 0.9)]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nobody", "--seat", "eve"], "no session is called 'nobody'"),
        (["d", "--seat", "zoe"], "'zoe' has no seat in 'd'; the seats are: ada, bob, eve"),
        (["d", "--seat", "ada"], "which Moot asks itself; people sit at: eve"),
    ],
)
def test_sitting_down_where_nobody_can_is_refused(
    cli: Cli, debate: str, words: list[str], told: str
) -> None:
    """M-8: one sentence."""
    with Terminal(cli, "sit", *words) as terminal:
        assert terminal.ended() == 2
    assert told in " ".join(terminal.raw.decode().split())


def test_sitting_down_needs_a_terminal(cli: Cli, debate: str) -> None:
    """M-8: in a pipe there is `moot answer`."""
    done = cli("sit", debate, "--seat", "eve", code=2)
    assert (
        done.err == "moot: `moot sit` needs a terminal; elsewhere: moot answer d --seat eve TEXT\n"
    )


def test_a_whole_debate_by_mailbox_in_plain_text(cli: Cli, debate: str) -> None:
    """M-8: a proposal that names an option, an argument about a line, a resolution passed over, a vote on a condition."""
    cli("answer", debate, "--seat", "eve", "B. SQLite, because it is small.")
    cli("resume", debate, code=3)
    cli("answer", debate, "--seat", "eve", "I challenge #2: it is too big.")
    cli("resume", debate, code=3)
    cli("answer", debate, "--seat", "eve", "pass")
    cli("resume", debate, code=3)
    refused = cli("answer", debate, "--seat", "eve", "perhaps", code=2)
    assert (
        "expected one of: Postgres | SQLite (a reason may follow: “Postgres: …”), or /abstain"
        in refused.err
    )
    ask = cli.json("asks", debate)["asks"][0]["ask"]
    words = (
        "answer",
        debate,
        "--seat",
        "eve",
        "--ask",
        ask,
        "2: yes, if we have backups\n3: oppose\n4: abstain",
    )
    first = cli.json(*words)
    cli("resume", debate, code=4)
    again = cli.json(*words)
    assert again == first
    said = [fact for fact in map(json.dumps, list_facts(cli, debate)) if '"eve"' in fact]
    assert any("SQLite" in fact and "because it is small" in fact for fact in said)
    assert any("we have backups" in fact and '"ballot"' in fact for fact in said)
    told = {each["seat"]: each.get("verdict") for each in cli.json("show", debate)["positions"]}
    assert "eve" in told


def test_a_mailbox_person_speaks_with_the_words_of_its_bid(cli: Cli) -> None:
    """M-8: who gets the floor at once is not asked for the same words again."""
    platform = write_script(
        cli.cwd / "scene.toml", {"ada": {"draft": [draft("Soup.", [1])], "speech": [speech("x")]}}
    )
    cli(
        "run",
        "Lunch?",
        "--seat",
        "eve=mailbox",
        "--seat",
        f"ada={platform}",
        *SUMMARIZER,
        "--session",
        "s",
        "--turns",
        "1",
        code=3,
    )
    cli("answer", "s", "--seat", "eve", "Noodles are quick.")
    lines = json.loads(cli("export", "s", "context").out)["timeline"]
    assert [(line["speaker"], line["content"]) for line in lines[1:]] == [
        ("eve", "Noodles are quick.")
    ]
    cli("resume", "s", code=3)
    cli("answer", "s", "--seat", "eve", "反对，因为太烫。")
    cli("resume", "s")
    assert [voice["text"] for voice in cli.json("show", "s")["dissent"]] == ["反对，因为太烫。"]


def test_a_person_answers_once_at_a_terminal(cli: Cli, debate: str) -> None:
    """M-8: `moot answer` without a text asks in full sentences, with what is new."""
    with Terminal(cli, "answer", debate, "--seat", "eve") as terminal:
        terminal.wait_for("The question is:")
        terminal.wait_for("Which answer do you choose?")
        terminal.wait_for("eve>")
        terminal.type("1\r")
        terminal.wait_for("Why?")
        terminal.type("Known.\r")
        terminal.wait_for("How sure are you?")
        terminal.type("80%\r")
        terminal.wait_for("recorded")
        assert terminal.ended() == 0
    assert any(
        '"confidence": 0.8' in fact and "Known." in fact
        for fact in map(json.dumps, list_facts(cli, debate))
    )


def test_a_person_sits_at_a_session_in_postgresql(
    cli: Cli, postgres_address: str, tmp_path: Path
) -> None:
    """M-8: the ledger is the one of the usual settings."""
    shared = Cli(cli.home, cli.cwd, MOOT_LEDGER=postgres_address)
    platform = write_script(
        cli.cwd / "scene.toml", {"ada": {"intent": [wants(0.2)], "draft": [draft("Soup.", [1])]}}
    )
    seats = ["--seat", "eve=mailbox", "--seat", f"ada={platform}", "--set", "summarizer=ada"]
    shared("run", "Lunch?", *seats, "--session", "s", "--turns", "1", code=3)
    with Terminal(shared, "sit", "s", "--seat", "eve") as terminal:
        terminal.wait_for("eve>")
        terminal.type("Noodles.\r")
        terminal.wait_for("Where do you stand on this decision?")
        terminal.type("oppose\r")
        terminal.wait_for("Why?")
        terminal.type("Too hot.\r")
        terminal.wait_for("How sure are you?")
        terminal.type("\r")
        assert terminal.ended() == 0
    assert [voice["text"] for voice in shared.json("show", "s")["dissent"]] == ["Too hot."]


@pytest.mark.parametrize("door", ["run", "sit"])
def test_a_person_at_a_terminal_is_recorded_as_they_meant_or_asked(cli: Cli, door: str) -> None:
    """M-14: what cannot be read is asked for again, what is read from a sentence counts once Enter confirms it."""
    platform = write_script(
        cli.cwd / "scene.toml", {"ada": {"intent": [wants(0.2)], "draft": [draft("Soup.", [1])]}}
    )
    person = "human" if door == "run" else "mailbox"
    words = [
        "Lunch?",
        "--seat",
        f"ada={platform}",
        "--seat",
        f"eve={person}",
        *SUMMARIZER,
        "--session",
        "s",
        "--turns",
        "1",
    ]
    if door == "sit":
        cli("run", *words, code=3)
    with Terminal(
        cli, *(("run", *words) if door == "run" else ("sit", "s", "--seat", "eve"))
    ) as terminal:
        for asked, typed in (
            ("say something?", "Noodles."),
            ("Where do you stand on this decision?", "yes but no"),
            ("! expected a number or a word of the list", "支持不了"),
            ("! expected a number or a word of the list", "OK, I oppose this"),
            ("! understood as: oppose. Enter confirms it", ""),
            ("Why?", ""),
            ("How sure are you?", ""),
        ):
            # Each question anew: its words may have been shown before. Nothing is typed before the prompt stands.
            for shown in (asked, "eve>"):
                terminal.wait_for(shown)
                terminal.raw = terminal.raw.partition(shown.encode())[2]
            terminal.type(f"{typed}\r")
        assert terminal.ended() == 0
    taken = [fact for fact in list_facts(cli, "s") if fact["fact"] == "persona.stand_taken"]
    assert [(fact["seat"], fact["said"], fact["corrections"]) for fact in taken] == [
        ("eve", {"verdict": "oppose"}, ["words the answer 'OK, I oppose this'"])
    ]
