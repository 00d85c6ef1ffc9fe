"""A finished session is folded again without asking anyone, carried elsewhere, forked, compared; a changed one is found out."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import (
    LAYOFFS,
    Cli,
    draft,
    facts,
    held,
    listens,
    seat_words,
    speech,
    stand,
    timeline,
    wants,
    write_script,
)

FORMS = ("context", "minutes", "html", "jsonl")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a finished session whose script is gone."""
    folder = tmp_path_factory.mktemp("finished")
    script = folder / "scene.toml"
    script.write_bytes(LAYOFFS.read_bytes())
    words = seat_words(f"script:{script}", "ABC")
    Cli(folder / "home", folder)(
        "run", "我们要不要裁员 20%？", *words, "--set", "summarizer=C", "--session", "s"
    )
    script.unlink()
    return folder / "home"


@pytest.fixture
def session(cli: Cli, finished: Path) -> str:
    """That session, in a home of this test's own."""
    shutil.copytree(finished, cli.home)
    return "s"


def exports(cli: Cli, session: str) -> dict[str, str]:
    """The session in every form."""

    async def work() -> dict[str, str]:
        async with cli.moot() as moot:
            return {form: await moot.export(session, form) for form in FORMS}

    return held(work())


def strip_signature(forms: dict[str, str]) -> dict[str, str]:
    """Without what each home says of itself: the signed first line of a record, and the mark of imported minutes."""
    minutes = forms["minutes"]
    bare = minutes.partition("\n\n")[2] if minutes.startswith("> ") else minutes
    return {**forms, "jsonl": forms["jsonl"].partition("\n")[2], "minutes": bare}


def tamper(cli: Cli, statement: str, *values: Any) -> None:
    """Change the ledger behind Moot's back."""
    with closing(sqlite3.connect(cli.home / "ledger.db")) as ledger, ledger:
        assert ledger.execute(statement, values).rowcount == 1


def test_a_replay_asks_nobody_and_changes_nothing(cli: Cli, session: str) -> None:
    """P-3, P-5: the scripts are gone; state and exports come from the record alone, and are the same before and after."""
    before = exports(cli, session)
    one = cli.json("replay", session)
    two = cli.json("replay", session)
    assert one == two
    assert one["modelCalls"] == 0
    assert one["answers"] == 21
    assert one["entries"] == len(facts(before["jsonl"]))
    assert exports(cli, session) == before
    assert "no model called" in cli("replay", session).out


def test_an_exported_ledger_is_the_same_session_elsewhere(
    cli: Cli, session: str, tmp_path: Path
) -> None:
    """P-6: export, import into another home: same bytes in every form, same state, same head of the chain."""
    before, state = exports(cli, session), cli.json("replay", session)
    cli("export", session, "jsonl", "-o", str(tmp_path / "s.jsonl"))
    other = cli.elsewhere("other")
    assert other.json("import", str(tmp_path / "s.jsonl")) == {"sessionId": session}
    assert strip_signature(exports(other, session)) == strip_signature(before)
    assert other.json("replay", session) == state
    assert other.json("verify", "s") == cli.json("verify", "s")
    again = other("import", str(tmp_path / "s.jsonl"), code=2)
    assert again.err == "moot: session 's' exists already in this ledger\n"


def test_words_with_unusual_line_breaks_survive_export_and_import(cli: Cli, tmp_path: Path) -> None:
    """P-6: U+2028, U+2029 and U+0085 are line breaks to some programs; a line of the export stays one line."""
    words = "one\u2028two\u2029three\u0085four"
    platform = write_script(
        tmp_path / "s.toml",
        {"a": {"intent": [wants()], "speech": [speech(words)], "draft": [draft(words)]}},
    )
    cli("run", words, "--seat", f"a={platform}", "--session", "s")
    before = exports(cli, "s")
    cli("export", "s", "jsonl", "-o", str(tmp_path / "s.jsonl"))
    other = cli.elsewhere("other")
    other("import", str(tmp_path / "s.jsonl"))
    assert strip_signature(exports(other, "s")) == strip_signature(before)


def test_a_context_ledger_becomes_a_session_that_goes_on(
    cli: Cli, session: str, tmp_path: Path
) -> None:
    """P-6: the timeline is taken over, entry by entry, and new entries follow it."""
    document = json.loads(cli("export", session, "context").out)
    document.update(status="thinking", conclusion=None)
    (tmp_path / "context_ledger.json").write_text(json.dumps(document), encoding="utf-8")
    talk = {
        "X": {
            "intent": [wants()],
            "speech": [speech("再想想。", refers_to=4)],
            "draft": [draft("再议。", [4, 5])],
        },
        "Y": {"intent": [listens()], "stand": [stand()]},
    }
    platform = write_script(tmp_path / "next.toml", talk)
    other = cli.elsewhere("other")
    words = seat_words(platform, "XY")
    assert other.json(
        "import", str(tmp_path / "context_ledger.json"), "--session", "next", *words
    ) == {"sessionId": "next"}
    decided = other.json("resume", "next")
    assert (decided["decision"], decided["decisionEntries"]) == ("再议。", [4, 5])
    now = timeline(other("export", "next", "context").out)
    assert now[:4] == document["timeline"]
    assert [(line["id"], line["speaker"], line.get("refers_to")) for line in now[4:]] == [
        (5, "X", 4)
    ]


def test_a_concluded_context_ledger_keeps_its_conclusion(
    cli: Cli, session: str, tmp_path: Path
) -> None:
    """P-6: what had ended stays ended, conclusion and all."""
    cli("export", session, "context", "-o", str(tmp_path / "c.json"))
    other = cli.elsewhere("other")
    other("import", str(tmp_path / "c.json"), "--session", "s")
    assert other("export", "s", "context").out == (tmp_path / "c.json").read_text(encoding="utf-8")
    assert other.json("list")["sessions"][0]["status"] == "concluded"


CHANGES = {
    "a word": (
        "UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), '0.95', '0.15') AS BLOB) WHERE seq = 23",
        23,
    ),
    "a time": ("UPDATE entries SET at = at + 1 WHERE seq = 12", 12),
    "a gap": ("DELETE FROM entries WHERE seq = 19", 19),
    "no JSON": ("UPDATE entries SET body = CAST('gone' AS BLOB) WHERE seq = 30", 30),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_ledger_is_found_out_by_verify(cli: Cli, session: str, change: str) -> None:
    """P-3: exit code 5 and the entry's number; with a session's name, and for all sessions."""
    statement, entry = CHANGES[change]
    tamper(cli, statement)
    assert f"entry {entry} " in cli("verify", session, code=5).out
    (found,) = [each for each in cli.verify(code=5).items() if each[1]]
    assert found[0] == session
    assert f"entry {entry} " in found[1]


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_ledger_cannot_be_replayed(cli: Cli, session: str, change: str) -> None:
    """P-3: exit code 5 (a check failed), one sentence with the entry's number."""
    statement, entry = CHANGES[change]
    tamper(cli, statement)
    told = cli("replay", session, code=5)
    assert told.err.count("\n") == 1
    assert f"entry {entry} " in told.err


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_ledger_says_so_in_one_sentence_when_it_is_replayed_or_resumed(
    cli: Cli, session: str, change: str
) -> None:
    """P-3: the sentence names session and entry; nothing is appended behind the damage."""
    statement, entry = CHANGES[change]
    tamper(cli, statement)
    with closing(sqlite3.connect(cli.home / "ledger.db")) as ledger:
        before = ledger.execute("SELECT * FROM entries ORDER BY seq").fetchall()
    done = cli.json("replay", session, code=5)
    assert done["error"]["kind"] == "LedgerDamaged"
    assert f"'{session}'" in done["error"]["message"]
    assert f"entry {entry} " in done["error"]["message"]
    assert cli.json("resume", session, code=5)["error"]["kind"] == "LedgerDamaged"
    with closing(sqlite3.connect(cli.home / "ledger.db")) as ledger:
        assert ledger.execute("SELECT * FROM entries ORDER BY seq").fetchall() == before


def test_a_session_that_lost_its_first_entry_is_found_out_by_verify(cli: Cli, session: str) -> None:
    """P-3: `moot verify` without a name looks at every session that the ledger holds."""
    tamper(
        cli,
        "DELETE FROM entries WHERE seq = 1 AND session = (SELECT number FROM sessions WHERE id NOT LIKE '\\_%' ESCAPE '\\')",
    )
    assert "entry 1 is missing" in cli("verify", code=5).out


def test_a_changed_export_is_not_taken_in(cli: Cli, session: str, tmp_path: Path) -> None:
    """P-6: the chain is checked before anything is recorded."""
    changed = cli("export", session, "jsonl").out.replace("10% 优化", "90% 优化")
    (tmp_path / "s.jsonl").write_text(changed, encoding="utf-8")
    other = cli.elsewhere("other")
    assert "its hash does not fit" in other("import", str(tmp_path / "s.jsonl"), code=5).err
    whole = cli("export", session, "jsonl").out
    (tmp_path / "s.jsonl").write_text(
        whole.replace('"session": "s"', '"session": "mine"', 1), encoding="utf-8"
    )
    assert (
        "what was signed was changed afterwards"
        in other("import", str(tmp_path / "s.jsonl"), code=5).err
    )
    # A cut one, also where its first line was made to fit.
    lines = whole.splitlines()[:-3]
    (tmp_path / "s.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert "the export is not whole" in other("import", str(tmp_path / "s.jsonl"), code=2).err
    end = json.loads(lines[-1])
    lines[0] = json.dumps({**json.loads(lines[0]), "entries": end["seq"], "hash": end["hash"]})
    (tmp_path / "s.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert (
        "what was signed was changed afterwards"
        in other("import", str(tmp_path / "s.jsonl"), code=5).err
    )
    assert other.json("list")["sessions"] == []


def test_a_rulebook_that_would_have_decided_otherwise_is_distinct(
    cli: Cli, session: str, tmp_path: Path
) -> None:
    """P-10: an export with a whole chain that gives the floor to the wrong seat is not taken in, with code 5."""
    from moothall.codec.chain import EXPORT_VERSION, compute_record_hash, compute_root_hash
    from moothall.domain.ids import SessionId

    lines = [
        json.loads(line) for line in cli("export", session, "jsonl").out.split("\n")[1:] if line
    ]
    before = compute_root_hash(SessionId(session))
    for line in lines:
        line["body"] = line["body"].replace('"turn":3,"seat":"C"', '"turn":3,"seat":"A"')
        before = compute_record_hash(before, line["seq"], line["at"], line["body"].encode())
        line["hash"] = before.hex()
    end = {"entries": lines[-1]["seq"], "hash": lines[-1]["hash"]}
    text = "\n".join(
        json.dumps(line) for line in [{"moot": EXPORT_VERSION, "session": session, **end}, *lines]
    )
    (tmp_path / "forged.jsonl").write_text(text, encoding="utf-8")
    other = cli.elsewhere("other")
    told = other("import", str(tmp_path / "forged.jsonl"), code=5)
    assert other.json("list")["sessions"] == []
    assert told.err.startswith(
        "moot: session 's', entry 24: the rulebook would have recorded FloorGiven(turn=3, seat='C'"
    )


def test_a_fork_goes_on_with_another_seat_and_leaves_its_source_alone(
    cli: Cli, tmp_path: Path
) -> None:
    """P-3, P-10: up to the entry the same; from there on the seat's new participant answers."""
    seats = {
        "A": {"intent": [wants(0.9)], "speech": [speech("first")], "draft": [draft("Old.", [2])]},
        "B": {
            "intent": [listens(), wants(0.8)],
            "speech": [speech("the old B")],
            "stand": [stand()],
        },
    }
    new = {
        "B": {
            "intent": [listens(), wants(0.7)],
            "speech": [speech("the new B")],
            "stand": [stand("oppose", position="No.")],
        }
    }
    old_platform, new_platform = (
        write_script(tmp_path / "old.toml", seats),
        write_script(tmp_path / "new.toml", new),
    )
    cli("run", "Fork?", *seat_words(old_platform, "AB"), "--session", "s")
    source = exports(cli, "s")
    at = next(
        number
        for number, fact in enumerate(facts(source["jsonl"]), 1)
        if fact["fact"] == "persona.turn_taken"
    )
    forked = cli("fork", "s", "--at", str(at), "--swap", f"B={new_platform}", "--session", "f").out
    assert forked == "session f; continue with: moot resume f\n"
    assert [line["speaker"] for line in timeline(cli("export", "f", "context").out)] == [
        "USER",
        "A",
    ]
    decision = cli.json("resume", "f")
    assert [line["content"] for line in timeline(cli("export", "f", "context").out)] == [
        "Fork?",
        "first",
        "the new B",
    ]
    assert [voice["text"] for voice in decision["dissent"]] == ["No."]
    assert exports(cli, "s") == source
    assert cli.json("replay", "f")["modelCalls"] == 0
    assert [fault for name, fault in cli.verify().items() if not name.startswith("_")] == [
        None,
        None,
    ]

    difference = cli.json("diff", "s", "f")
    assert difference["shared"] == at
    assert difference["left"][0]["fact"] == "AsksSent"
    assert difference["right"][0]["fact"] == "SessionForked"
    assert [end["decision"] for end in difference["decisions"]] == ["Old.", "Old."]
    told = cli("diff", "s", "f").out.splitlines()
    assert told[:3] == ["- s: Old.", "+ f: Old.", f"the same up to entry {at} of the ledger, then:"]
    assert any(line.startswith("- ") and "the old B" in line for line in told)
    assert any(line.startswith("+ ") and "the new B" in line for line in told)


def test_a_fork_without_an_entry_goes_back_to_just_before_the_end(cli: Cli, tmp_path: Path) -> None:
    """P-15: the last word is taken again, all the rest is copied."""
    platform = write_script(
        tmp_path / "s.toml",
        {"A": {"intent": [wants()], "speech": [speech("x")], "draft": [draft()]}},
    )
    cli("run", "Fork?", "--seat", f"A={platform}", "--session", "s")
    assert cli.json("fork", "s", "--session", "f") == {"sessionId": "f"}
    assert cli.json("list")["sessions"][0]["status"] == "thinking"
    decided = cli.json("resume", "f")
    assert (decided["decision"], decided["decisionEntries"]) == ("Yes.", [1])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--at", "999"], "entry 999 does not exist in 's'; it has 1 to 37"),
        (["--at", "37"], "'s' was closed by entry 37; fork it at 36 or earlier"),
        (["--swap", "Z=mailbox"], "no seat is called 'Z'; the seats are: A, B, C"),
        (["--swap", "A"], "--swap: expected SEAT=PLATFORM, such as ada=openai:gpt-5-mini"),
        (["--swap", "A=script:gone.toml"], "gone.toml cannot be read: No such file or directory"),
        (["--session", "s"], "session 's' exists already; choose another id"),
    ],
)
def test_a_fork_that_cannot_be_made_is_refused(
    cli: Cli, session: str, words: list[str], sentence: str
) -> None:
    """P-1: one sentence, code 2, and no session more."""
    done = cli("fork", session, *words, code=2)
    assert done.err.startswith("moot: ")
    assert done.err.endswith(f"{sentence}\n")
    assert [line["sessionId"] for line in cli.json("list")["sessions"]] == ["s"]
