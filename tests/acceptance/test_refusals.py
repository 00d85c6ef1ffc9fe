"""What cannot work is refused before anything is recorded: one sentence that says what was wrong and what to do, no traceback."""

import resource
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.acceptance.doors import DEADLINE, LAYOFFS, Cli, Done, held, seat_words, timeline

from moothall.codec.chain import compute_record_hash
from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.ledgers.migrations import load_migrations

NEWEST = load_migrations("sqlite")[-1].version
GOOD = ("--seat", "A={scene}", "--seat", "B={scene}")
PANEL = '[[seat]]\nid = "A"\nplatform = "{scene}"\n'


@dataclass(frozen=True)
class Refused:
    """A call, and the sentence that it is refused with. `{scene}` stands for a script that works."""

    words: tuple[str, ...]
    told: str
    code: int = 2
    topic: str = "Should we?"
    files: dict[str, str] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)


def panel(text: str, told: str) -> Refused:
    return Refused(("--panel", "p.toml"), told, files={"p.toml": text})


def script(text: str, told: str) -> Refused:
    return Refused(("--seat", "A=script:s.toml"), told, files={"s.toml": text})


REFUSED = {
    "two equal seat ids": Refused(
        (*GOOD, "--seat", "A=mailbox"), "two seats are called 'A'; each needs an id of its own"
    ),
    "seat ids that differ in case only": Refused(
        ("--seat", "Ada={scene}", "--seat", "ada={scene}"),
        "two seats are called 'Ada' and 'ada', which look alike",
    ),
    "a seat called USER": Refused(
        ("--seat", "user={scene}"),
        "seat id 'user' is reserved for the person who asks; choose another",
    ),
    "a seat id with a space": Refused(
        ("--seat", "a b={scene}"), "seat id 'a b' may hold letters and digits of any script"
    ),
    "a seat id with an escape": Refused(
        ("--seat", "a\x1b[31m={scene}"), "seat id 'a\\x1b[31m' may hold letters"
    ),
    "a seat without a platform": Refused(
        ("--seat", "A"), "--seat 'A': expected name=platform, such as ada=openai:gpt-5-mini"
    ),
    "unknown platform": Refused(("--seat", "A=nonsense:model"), "nonsense"),
    "unknown protocol": Refused(
        (*GOOD, "--protocol", "debat"),
        "unknown protocol 'debat'; known: advisory, consensus, consultation, debate, persona, pipeline, review, roundtable, "
        "swarm",
    ),
    "empty topic": Refused(GOOD, "the topic is empty; write a question", topic="  \n "),
    "a topic without an end": Refused(
        GOOD, "the topic has 20001 characters; the limit is 20000", topic="x" * 20_001
    ),
    "panel: weight 0": panel(
        PANEL + "weight = 0\n", "seat 'A' has the weight 0.0; a bias weight must be greater than 0"
    ),
    "panel: weight below 0": panel(
        PANEL + "weight = -1\n",
        "seat 'A' has the weight -1.0; a bias weight must be greater than 0",
    ),
    "panel: weight nan": panel(
        PANEL + "weight = nan\n",
        "seat 'A' has the weight nan; a bias weight must be greater than 0",
    ),
    "panel: weight inf": panel(
        PANEL + "weight = inf\n",
        "seat 'A' has the weight inf; a bias weight must be greater than 0",
    ),
    "panel: weight no number": panel(
        PANEL + 'weight = "much"\n', "the panel file p.toml: seat.1.weight: "
    ),
    "panel: patience 0": panel(
        PANEL + "patience = 0\n", "seat 'A' has the patience 0.0; it must be more than 0 seconds"
    ),
    "panel: no TOML": panel("[[seat\n", "the panel file p.toml is not valid TOML: "),
    "panel: no id": panel(
        '[[seat]]\nplatform = "mailbox"\n', "the panel file p.toml: seat.1.id is missing"
    ),
    "panel: unknown key": panel(
        PANEL + 'mood = "good"\n', "the panel file p.toml: seat.1.mood is not a known key"
    ),
    "panel: no seats": panel("", "the panel file p.toml: seat is missing"),
    "panel: two equal ids": panel(
        PANEL + PANEL, "two seats are called 'A' and 'A'; each needs an id of its own"
    ),
    "panel: unknown platform": panel('[[seat]]\nid = "A"\nplatform = "nonsense:x"\n', "nonsense"),
    "panel: unknown setting": panel(
        "[settings]\nmood = 1\n" + PANEL, "unknown setting 'mood'; known: window, threshold, blind"
    ),
    "panel: missing file": Refused(
        ("--panel", "gone.toml"),
        "the panel file gone.toml cannot be read: No such file or directory",
    ),
    "unknown preset": Refused(("--panel", "bord"), "no panel is called 'bord'; known: "),
    "script: missing": Refused(
        ("--seat", "A=script:gone.toml"), "gone.toml cannot be read: No such file or directory"
    ),
    "script: no TOML": script("[[intent\n", "s.toml is not valid TOML: "),
    "script: not this seat's": script(
        '[[seats.Z.speech]]\ncontent = "x"\n', "s.toml has no [seats.A]; it needs one for each seat"
    ),
    "script: not a table": script(
        "intent = 5\n", "s.toml: 'intent' must be written as [[intent]] tables"
    ),
    "script: unknown loss": script(
        '[[intent]]\nfail = "bored"\n', "intent: fail = 'bored'; known: timeout, error, malformed"
    ),
    "script: delay below 0": script(
        "[[intent]]\ndelay = -1\n", "intent: delay = -1; expected seconds"
    ),
    "script: raw is no text": script("[[intent]]\nraw = 1\n", "intent: raw must be a text"),
    "script: a folder": Refused(("--seat", "A=script:."), "cannot be read: Is a directory"),
    "unknown setting": Refused(
        (*GOOD, "--set", "windw=8"), "unknown setting 'windw'; known: window, threshold, blind"
    ),
    "setting out of range": Refused(
        (*GOOD, "--set", "window=0"), "setting window: Input should be greater than or equal to 1"
    ),
    "setting of the wrong kind": Refused(
        (*GOOD, "--set", "blind=maybe"), "setting blind: Input should be a valid boolean"
    ),
    "setting nan": Refused((*GOOD, "--set", "threshold=nan"), "setting threshold: "),
    "patience without an end": Refused(
        (*GOOD, "--set", "intent_patience=inf"), "setting intent_patience: "
    ),
    "patience beyond the calendar": Refused(
        (*GOOD, "--set", "speech_patience=1e300"), "setting speech_patience: "
    ),
    "setting without a value": Refused(
        (*GOOD, "--set", "window"), "--set 'window': expected KEY=VALUE, such as window=8"
    ),
    "summarizer without a seat": Refused(
        (*GOOD, "--set", "summarizer=Z"), "summarizer = 'Z' is not a seat; the seats are: A, B"
    ),
    "a Chinese meeting with an embedded seat": Refused(
        ("--seat", "A=embedded"),
        "seat 'A': the embedded model speaks English only; for a Chinese meeting set",
        topic="我们要不要裁员？",
    ),
    "session name ../x": Refused(
        (*GOOD, "--session", "../x"), "session id '../x' must have 1 to 80 ASCII letters"
    ),
    "session name a/b": Refused(
        (*GOOD, "--session", "a/b"), "session id 'a/b' must have 1 to 80 ASCII letters"
    ),
    "session name of 200 characters": Refused(
        (*GOOD, "--session", "x" * 200), f"session id '{'x' * 100}' must have 1 to 80"
    ),
    "empty session name": Refused(
        (*GOOD, "--session", ""), "session id '' must have 1 to 80 ASCII letters"
    ),
    "session name -x": Refused(
        (*GOOD, "--session=-x"), "session id '-x' must have 1 to 80 ASCII letters"
    ),
    "human seat without a terminal": Refused(
        ("--seat", "me=human"),
        "seat 'me': a human seat needs a terminal; elsewhere use the platform `mailbox`",
        code=1,
    ),
    "a provider without a key": Refused(
        ("--seat", "A=openai:gpt-5-mini"), "OPENAI_API_KEY", code=1
    ),
    "a server that is not there": Refused(
        ("--seat", "A=http://127.0.0.1:9/v1#m"), "127.0.0.1:9", code=1
    ),
    "MOOT_LEDGER of no known kind": Refused(
        GOOD,
        "MOOT_LEDGER = 'mysql://x' is not a ledger; expected a file, `memory:` or postgresql://…",
        environ={"MOOT_LEDGER": "mysql://x"},
    ),
}


def refused(cli: Cli, case: Refused) -> Done:
    for name, text in case.files.items():
        (cli.cwd / name).write_text(text.replace("{scene}", f"script:{LAYOFFS}"), encoding="utf-8")
    words = [word.replace("{scene}", f"script:{LAYOFFS}") for word in case.words]
    return Cli(cli.home, cli.cwd, **case.environ)("run", case.topic, *words, code=case.code)


def is_empty(cli: Cli) -> bool:
    """Whether nothing was recorded."""

    async def work() -> bool:
        async with cli.moot() as moot:
            return await moot.sessions() == []

    return held(work())


def check_sentence(done: Done, told: str) -> None:
    assert done.out == ""
    assert done.err.startswith("moot: ")
    assert told in done.err
    assert done.err.count("\n") == 1
    assert "\x1b" not in done.err


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused_in_one_sentence_and_nothing_is_recorded(
    cli: Cli, case: str
) -> None:
    """P-1: before anything is recorded."""
    check_sentence(refused(cli, REFUSED[case]), REFUSED[case].told)
    assert is_empty(cli)


def test_without_a_model_the_reader_is_told_what_to_do_next(cli: Cli) -> None:
    """P-1: in the reader's words, one way on each line, in the language of the question."""
    for topic, words in (("Ship?", "No model is set up."), ("要不要发布？", "尚未设置任何模型。")):
        done = cli("run", topic, code=2)
        assert done.out == ""
        first, _, *ways, last = done.err.splitlines()
        assert first == f"moot: {words}"
        assert [way.split()[0] for way in ways] == ["1", "2", "3", "4"]
        assert "moot doctor" in last
        assert not {"seat", "platform"} & set(done.err.split())
    assert is_empty(cli)


LATE = {
    "patience of 4 million days": Refused(
        ("--seat", "A=mailbox", "--patience", "4000000d"), "patience"
    ),
    "panel: patience beyond the calendar": panel(PANEL + "patience = 1e300\n", "patience"),
}


@pytest.mark.parametrize("case", LATE)
def test_a_deadline_beyond_the_calendar_is_refused_in_one_sentence(cli: Cli, case: str) -> None:
    """P-1: the same, for values that only break later."""
    check_sentence(refused(cli, LATE[case]), LATE[case].told)
    assert is_empty(cli)


def test_words_that_are_no_utf_8_do_not_break_the_ledger(cli: Cli) -> None:
    """P-3: bytes that no character stands for, in a topic or an input, are taken as something that can be read again."""
    cli("run", "x\udcffy", "--seat", "A=mailbox", "--session", "s", code=3)
    cli("input", "s", "x\udcffy")
    assert [line["content"] for line in timeline(cli("export", "s", "context").out)] == [
        "x?y",
        "x?y",
    ]
    assert cli.json("list")["sessions"][0]["entries"] == 3
    assert set(cli.verify().values()) == {None}


@pytest.mark.parametrize("money", ["inf", "nan"])
def test_a_budget_that_is_no_number_is_refused(cli: Cli, money: str) -> None:
    """P-14: code 2, no traceback."""
    cli("run", "Money?", "--seat", f"A=script:{LAYOFFS}", "--money", money, code=2)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--turns", "0"], "0 is not in the range 1<=x<=100000"),
        (["--tokens", "-1"], "-1 is not in the range 1<=x<=1000000000000"),
        (["--money", "0"], "0.0 is not in the range 0<x<=1000000.0"),
        (["--time", "soon"], "'soon' is not a duration; write seconds, or 90s, 10m, 2h, 3d"),
        (["--time", "0"], "'0' is not a duration; it must be greater than 0"),
        (["--time", "nan"], "'nan' is not a duration; it must be greater than 0"),
        (["--seed", "-1"], "-1 is not in the range"),
        (["--language", "xx"], "'xx' is not one of 'en', 'zh'"),
        (["--nonsense"], "No such option"),
    ],
)
def test_an_option_that_cannot_be_read_is_refused(cli: Cli, words: list[str], told: str) -> None:
    """P-1, P-14: the option is named, code 2."""
    done = cli("run", "Options?", "--seat", f"A=script:{LAYOFFS}", *words, code=2)
    assert done.out == ""
    assert done.err.splitlines()[-1].startswith("Error: ")
    assert told in done.err.splitlines()[-1]
    assert words[0] in done.err.splitlines()[-1]
    assert is_empty(cli)


def test_a_home_that_is_a_file_is_told(cli: Cli) -> None:
    """P-3: code 1, with the remedy; the file is left alone."""
    cli.home.write_text("mine")
    for words in (["run", "Home?", "--seat", f"A=script:{LAYOFFS}"], ["show", "last"]):
        check_sentence(cli(*words, code=1), "cannot be opened (")
    assert cli.home.read_text() == "mine"


def test_a_ledger_of_a_newer_version_is_left_alone(cli: Cli) -> None:
    """P-3: code 1, "upgrade Moot"."""
    cli("list")
    ledger = cli.home / "ledger.db"
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.commit()
    for words in (["run", "Newer?", "--seat", f"A=script:{LAYOFFS}"], ["list"], ["verify"]):
        expected = f"has version 99, this Moot knows {NEWEST}; upgrade Moot, or point MOOT_HOME or MOOT_LEDGER elsewhere"
        check_sentence(cli(*words, code=1), expected)
    with closing(sqlite3.connect(ledger)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (99,)
        assert connection.execute("SELECT count(*) FROM entries").fetchone() == (0,)


def test_a_ledger_from_before_the_first_release_is_left_alone(cli: Cli) -> None:
    """P-3: code 1, one sentence with the remedy."""
    cli("list")
    ledger = cli.home / "ledger.db"
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA user_version = 2")
        connection.commit()
    for words in (
        ["run", "Older?", "--seat", f"A=script:{LAYOFFS}"],
        ["list"],
        ["verify"],
        ["decisions"],
    ):
        check_sentence(
            cli(*words, code=1),
            "was written by a Moot from before its first release (version 2, the first is 10)",
        )
    with closing(sqlite3.connect(ledger)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_session_of_a_newer_moot_is_listed_as_newer_not_as_damaged(cli: Cli) -> None:
    """N-5, N-7: in a rolling upgrade nobody is to look for damage that there is not."""
    cli("run", "Older?", "--seat", "ada=mailbox", "--session", "older", code=3)

    async def work() -> None:
        async with cli.moot() as moot:
            last = (await moot.ledger.read(SessionId("older")))[-1]
            body = b'{"fact":"persona.sung","song":"of a newer Moot"}'
            digest = compute_record_hash(last.hash, last.seq + 1, last.at, body)
            await moot.ledger.append(
                SessionId("older"), [StoredRecord(last.seq + 1, last.at, body, digest)]
            )

    held(work())
    assert "newer" in cli("list").out
    assert "damaged" not in cli("list").out
    assert cli("verify").code == 0


def test_a_terminal_that_knows_ascii_alone_ends_no_meeting(cli: Cli) -> None:
    """P-1: what it cannot show is a question mark; the meeting goes on to its end."""
    cli.environ.update(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    done = cli.fresh("demo")
    assert "Traceback" not in done.err
    assert done.out.isascii()
    assert "?" in done.out


def test_a_token_that_has_expired_is_listed_as_such(cli: Cli) -> None:
    """N-7: the list says which tokens still open the door."""
    cli("invite", "--owner", "--lasts", "1s")
    cli("invite", "--observer")
    time.sleep(1.1)
    lines = cli("invite", "--list").out.splitlines()
    assert ["expired" in line for line in lines] == ["owner" in line for line in lines]


def test_an_export_from_before_the_first_release_is_refused(cli: Cli, tmp_path: Path) -> None:
    """P-3: code 2, one sentence; nothing is imported."""
    cli("run", "Older?", "--seat", "ada=mailbox", "--session", "older", code=3)
    text = cli("export", "older", "jsonl").out
    (tmp_path / "older.jsonl").write_text(
        text.replace('{"moot": 3, "session": "older"', '{"moot": 2, "session": "before"')
    )
    check_sentence(
        cli("import", str(tmp_path / "older.jsonl"), code=2),
        "was exported by a Moot from before its first release",
    )
    assert "before" not in cli("list").out


def open_to_others(cli: Cli) -> None:
    cli.home.chmod(0o755)
    (cli.home / "ledger.db").chmod(0o644)


def is_open_to_others(cli: Cli) -> bool:
    """Whether the home and its file have the modes that `open_to_others` gave them, and nothing was put beside it."""
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (cli.home, *cli.home.iterdir())]
    return modes == [0o755, 0o644]


@pytest.mark.parametrize("content", [b"not a database, but long enough to be one" * 30, b"short"])
def test_a_ledger_that_is_no_database_is_left_alone(cli: Cli, content: bytes) -> None:
    """P-3: code 1; nothing of the file is touched, nor who may read it."""
    cli.home.mkdir()
    (cli.home / "ledger.db").write_bytes(content)
    open_to_others(cli)
    check_sentence(
        cli("list", code=1),
        "is no SQLite file and so no ledger; name another file, or another MOOT_HOME",
    )
    assert (cli.home / "ledger.db").read_bytes() == content
    assert is_open_to_others(cli)


def test_a_database_of_another_program_is_left_alone(cli: Cli) -> None:
    """P-3: code 1."""
    cli.home.mkdir()
    with closing(sqlite3.connect(cli.home / "ledger.db")) as connection:
        connection.execute("CREATE TABLE theirs (x)")
        connection.commit()
    open_to_others(cli)
    check_sentence(
        cli("list", code=1),
        "is an SQLite file of another program; name another file, or another MOOT_HOME",
    )
    with closing(sqlite3.connect(cli.home / "ledger.db")) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]
    assert is_open_to_others(cli)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "TEXT is empty; say something"),
        (" \n", "the input is empty; say something"),
        ("x" * 20_001, "TEXT has 20001 characters; at most 20000 are kept"),
    ],
)
def test_an_input_that_says_nothing_or_too_much_is_refused(cli: Cli, text: str, said: str) -> None:
    """P-7: one sentence, nothing recorded."""
    cli("run", "Input?", "--seat", "eve=mailbox", "--session", "s", code=3)
    check_sentence(cli("input", "s", text, code=2), said)
    assert cli.json("list")["sessions"][0]["entries"] == 2


def test_a_person_who_has_no_terminal_any_more_is_told_to_resume_elsewhere(cli: Cli) -> None:
    """P-2, P-9, M-5: with --no-check the meeting is parked, nothing is lost, and the record says why and how to go on."""
    words = ("run", "Anyone?", "--seat", "me=human", "--no-check", "--session", "s")
    parked = cli.json(*words, code=3)
    reason = "me: there is no terminal to ask a person at"
    assert (parked["status"], parked["parked"], parked["decision"], parked["lost"]) == (
        "parked",
        reason,
        None,
        [],
    )
    assert "moot resume s" in cli("show", "s").out


def test_a_full_disk_is_told_in_one_sentence_and_nothing_acknowledged_is_lost(cli: Cli) -> None:
    """P-3, P-6: no file may grow beyond what a few entries need; with room again the meeting goes on.

    It says at once that it tries again, and in the end in one sentence that this was in vain; here after a second.
    """
    impatient = "from moothall.engine import session_loop; session_loop.LEDGER_SECONDS = 1.0; "
    program = f"{impatient}from moothall.surfaces.cli.main import main; main()"
    words = [
        sys.executable,
        "-c",
        program,
        "run",
        "裁员？",
        *seat_words(f"script:{LAYOFFS}", "ABC"),
        "--set",
        "summarizer=C",
        "--session",
        "s",
    ]
    limit = (60 * 1024, 60 * 1024)
    done = subprocess.run(
        words,
        env=cli.environ,
        cwd=cli.cwd,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    assert done.returncode == 1
    retried, told = done.stderr.splitlines()
    assert retried.endswith("; trying again for 1 s")
    assert told.startswith("moot: ")
    assert "disk" in told
    assert cli.json("list")["sessions"][0]["status"] == "thinking"
    assert cli.verify("s") == {"s": None}
    assert cli.json("resume", "s")["status"] == "concluded"
