"""How the command line is learned and typed: its list of commands, short names of sessions, questions, settings, lists."""

import asyncio
import io
import json
import os
import re
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner, Result
from rich.cells import cell_len
from rich.console import Console

from moothall.app.environment import save_server_url
from moothall.app.features import list_commands
from moothall.app.moot import Moot
from moothall.app.session_list import SessionLine
from moothall.app.user_settings import write_settings
from moothall.domain.ids import SessionId
from moothall.errors import FolderUnwritable
from moothall.surfaces.cli import listing
from moothall.surfaces.cli.arguments import QUESTIONS, SESSIONS, QuestionText, SessionName
from moothall.surfaces.cli.main import FIRST, GROUPS, LazyCommand, main
from moothall.surfaces.cli.output import localize_times

SHIP = Path("docs/examples/ship.toml").absolute()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MOOT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MOOT_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def call(*words: str, given: str = "") -> Result:
    return CliRunner().invoke(main, words, input=given)


def hold(name: str, question: str = "Ship on Friday?") -> None:
    assert (
        call("run", question, "--seat", f"ada=script:{SHIP}", "--session", name, "-q").exit_code
        == 0
    )


def test_every_command_is_in_one_group_of_the_list() -> None:
    """A new command belongs into the row of its feature, or into `GROUPS` of surfaces/cli/main.py."""
    of_features = [row.name for _, row in list_commands() if row.group != "First"]
    assert {row.group for _, row in list_commands()} <= {"First", *GROUPS}
    listed = [*FIRST, *(name for names in GROUPS.values() for name in names), *of_features]
    assert sorted(set(main.commands) - set(listed)) == []
    assert sorted(listed) == sorted(main.commands)


def test_the_list_has_one_line_for_each_command_and_the_first_ten_alone_without_an_argument() -> (
    None
):
    whole, short = call("--help").output, call().output
    for name in main.commands:
        assert sum(line.startswith(f"  {name} ") for line in whole.splitlines()) == 1
    assert [name for name in main.commands if f"\n  {name} " in short] == [
        name for name in main.commands if name in FIRST
    ]
    assert all(title in whole for title in GROUPS)


def walk(command: click.Command) -> list[click.Command]:
    command = command.load() if isinstance(command, LazyCommand) else command
    inner = (
        [each for one in command.commands.values() for each in walk(one)]
        if isinstance(command, click.Group)
        else []
    )
    return [command, *inner]


def test_every_argument_that_names_a_session_or_a_question_takes_the_short_forms() -> None:
    arguments = [
        param for each in walk(main) for param in each.params if isinstance(param, click.Argument)
    ]
    assert {type(each.type) for each in arguments if each.name in SESSIONS} == {SessionName}
    assert {type(each.type) for each in arguments if each.name in QUESTIONS} == {QuestionText}
    assert len([each for each in arguments if each.name in SESSIONS]) > 15


def test_a_session_is_named_by_last_a_beginning_or_its_number(home: Path) -> None:
    assert "there is no session yet" in call("show", "last").stderr
    hold("alpha_1")
    hold("alpha_2")
    hold("beta_7")
    for word, name in {
        "last": "beta_7",
        "be": "beta_7",
        "7": "beta_7",
        "alpha_1": "alpha_1",
        "alpha_2": "alpha_2",
    }.items():
        assert f'"sessionId": "{name}"' in call("show", word, "--json").stdout
    ambiguous = call("show", "alpha")
    assert (ambiguous.exit_code, "alpha_1, alpha_2" in ambiguous.stderr) == (2, True)
    assert "'gamma'" in call("show", "gamma").stderr
    assert [
        each.value for each in BashComplete(main, {}, "moot", "X").get_completions(["show"], "al")
    ] == ["alpha_2", "alpha_1"]
    assert [
        each.value
        for each in BashComplete(main, {}, "moot", "X").get_completions(["sit", "be", "--seat"], "")
    ] == ["ada"]


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (("Should we ship?",), 'moot run "Should we ship?"'),
        (("该不该上线？",), 'moot run "该不该上线？"'),
        (("run", "Should", "we", "ship?"), 'put the topic in quotes: main run "Should we ship?"'),
        (
            ("run", "Ship?", "--wait", "2hours"),
            "--wait 2hours: expected a duration such as 90s, 10m, 2h or 3d",
        ),
        (
            ("run", "Ship?", "--seat", "a=embedded", "--time", "99999999d"),
            "time = 99999999d is not a duration such as 90s, 10m, 2h or 3d",
        ),
        (
            ("run", "Ship?", "--seat", "a=mailbox", "--option", "a", "--option", "A"),
            "the options 'a' and 'A' are the same",
        ),
        (("backup", "x.db"), "it is `moot ledger backup`"),
        (("try", "Ship?"), "it is `moot demo --ask TOPIC`"),
        (("ask", "Ship?"), "it is `moot run QUESTION`"),
        (("history",), "it is `moot list`"),
        (("decisions", "new", "queues"), 'to search: main decisions search "new queues"'),
        (("demo", "debate", "--ask", "Ship?"), "--ask holds a meeting of its own"),
        (("demo", "--ask", "Ship?", "--json"), "--ask holds a meeting of its own"),
        (
            ("connect", "claude", "--url", "http://[x"),
            "expected something like http://127.0.0.1:8760",
        ),
        (("invite", "--owner", "--url", "ftp://x"), "'ftp://x' is not the address of a server"),
        (("ready", "http://"), "is not the address of a server"),
        (("run", "Ship?", "--wait", "1h30m"), "--wait 1h30m: expected a duration"),
        (
            ("run", "Ship?", "--seat", "a=mailbox", "--file", "http://[x"),
            "set MOOT_FETCH=on to fetch it",
        ),
        (
            ("run", "Ship?", "--seat", "a=mailbox", "--file", "x" * 300),
            "cannot be read: File name too long",
        ),
        (("help", "nonsense"), "No such command 'nonsense'"),
        (("resume", "one", "two"), "unexpected: two; main resume takes one SESSION"),
    ],
)
def test_common_first_mistakes_are_answered_with_the_remedy(
    home: Path, words: tuple[str, ...], remedy: str
) -> None:
    result = call(*words)
    assert (result.exit_code, remedy in result.stderr) == (2, True), result.stderr


def test_what_the_system_refuses_is_one_sentence(home: Path) -> None:
    """D-6: with --json, too."""
    assert call("verify", "--head", "x" * 300).stderr.startswith(
        "moot: a file cannot be read or written (File name too long): xxx"
    )
    for words in (("run", "-"), ("input", "s", "-"), ("notify", "add", "-")):
        refused = CliRunner().invoke(main, words, input=b"\xff\xfe")
        assert (refused.exit_code, refused.stderr) == (
            2,
            "moot: standard input is not text in UTF-8\n",
        ), words
    result = call("verify", "--head", "x" * 300, "--json")
    assert (result.exit_code, json.loads(result.stdout)["error"]["kind"]) == (1, "FolderUnwritable")


def test_a_command_runs_where_its_streams_are_closed_and_prints_where_no_width_is_known(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as closed:
        for name in ("stdin", "stdout", "stderr"):
            closed.setattr(sys, name, None)
        with pytest.raises(SystemExit) as ended:
            main(["run", "Ship?", "--seat", f"ada=script:{SHIP}", "--session", "closed"])
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            stream.close()
    assert ended.value.code == 0
    monkeypatch.setenv("COLUMNS", "0")
    assert "Ship on Friday at ten" in call("show", "closed", "--report").stdout


def test_help_is_a_word_too(home: Path) -> None:
    assert call("help", "ledger", "backup").output == call("ledger", "backup", "--help").output
    assert call("help").output == call("--help").output


def test_a_panel_that_cannot_sit_together_is_refused_before_a_key_is_asked_for(home: Path) -> None:
    panel = home.parent / "panel.toml"
    for text, fault in (
        ('[[seat]]\nid = "a"\n' * 2, "two seats are called 'a'"),
        ('[[seat]]\nid = "a"\nweight = 0\n', "weight 0.0"),
    ):
        panel.write_text(text)
        assert fault in call("run", "Ship?", "--panel", str(panel)).stderr


def test_a_question_from_a_pipe_is_held_and_quiet_prints_the_answer_alone(home: Path) -> None:
    result = call(
        "run",
        "-",
        "--seat",
        f"ada=script:{SHIP}",
        "--session",
        "piped",
        "-q",
        given="Ship on Friday?\n",
    )
    assert (
        result.stdout
        == "Ship on Friday at ten, behind a flag, with both of us on call until Saturday noon.\n"
    )
    assert result.stderr.splitlines()[-1].startswith("One voice: ")
    assert '"topic": "Ship on Friday?"' in call("show", "piped", "--json").stdout


def test_settings_count_where_a_call_does_not_say_otherwise(home: Path) -> None:
    assert call("config").stderr.startswith("nothing is set; one can set: models, panel")
    assert call("config", "set", "models", "mailbox", "human").output == "models = mailbox human\n"
    assert (
        call("config", "set", "money", "0.5").exit_code
        == call("config", "set", "panel", "board").exit_code
        == 0
    )
    assert call("config", "path").output == f"{home}/config.toml\n"
    assert call("config", "list").output == "models = mailbox human\nmoney = 0.5\npanel = board\n"
    plan = call("run", "Ship?", "--dry-run", "--no-check", "--json").stdout
    assert '"money": 500000' in plan
    assert '"mailbox"' in plan
    own = call(
        "run", "Ship?", "--dry-run", "--seat", f"ada=script:{SHIP}", "--money", "2", "--json"
    ).stdout
    assert '"money": 2000000' in own
    assert '"mailbox"' not in own
    assert call("config", "unset", "panel").output == "panel is no longer set\n"
    assert call("config", "get", "panel").stderr == "panel is not set\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("money", "much"), "money = 'much' is not a number greater than 0"),
        (("language", "tlh"), "language = 'tlh' is not one of"),
        (("panel", "a", "b"), "panel takes one value; got a, b"),
        (
            ("models", "mailbox", "gpt-5"),
            "unknown platform 'gpt-5'; a model stands behind its provider: openai:gpt-5",
        ),
        (("home", ""), "home = '' is not a folder's path"),
        (("panel", "boards"), "no panel is called 'boards'"),
        (("protocol", "debat"), "unknown protocol 'debat'"),
        (("colour", "red"), "'colour' is not one of 'models'"),
    ],
)
def test_a_wrong_setting_is_refused_and_nothing_is_written(
    home: Path, words: tuple[str, ...], reason: str
) -> None:
    result = call("config", "set", *words)
    assert (result.exit_code, reason in result.stderr) == (2, True), result.stderr
    assert not (home / "config.toml").exists()


def test_a_damaged_settings_file_is_named(home: Path) -> None:
    (home / "config.toml").write_text('panel = "board"')
    assert "unknown protocol 'debat'" in call("run", "Ship?", "--protocol", "debat").stderr
    (home / "config.toml").write_text("models = [")
    result = call("run", "Ship?", "--dry-run")
    assert (result.exit_code, f"{home}/config.toml is not valid TOML" in result.stderr) == (2, True)


def test_the_home_can_be_set(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOOT_HOME")
    monkeypatch.chdir(home)
    call("config", "set", "home", "elsewhere")
    monkeypatch.chdir("/")
    hold("there")
    assert (home / "elsewhere" / "ledger.db").exists()


def test_a_device_or_a_pipe_is_written_to_and_never_replaced(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root's `-o /dev/null` would take it from every program of the machine."""
    os.mkfifo(home / "pipe")
    reader = os.open(home / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    hold("s")
    assert call("export", "s", "minutes", "-o", str(home / "pipe")).exit_code == 0
    assert os.read(reader, 1000).startswith(b"# Minutes")
    monkeypatch.setenv("MOOT_CONFIG", str(home / "pipe"))
    with pytest.raises(FolderUnwritable, match="is not a file, and stores no settings"):
        write_settings(os.environ, {"money": 1.0})
    assert (home / "pipe").is_fifo()
    os.close(reader)


def test_panels_are_in_the_language_of_the_reader(home: Path) -> None:
    call("config", "set", "language", "zh")
    assert "公司董事会" in call("panel").output
    assert call("panel", "board", "--toml", "--language", "de").output.startswith(
        'name = "board"\nlanguage = "en"'
    )


def test_completion_is_installed_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/zsh")
    (home / ".zshrc").write_text("alias x=y\n")
    for _ in range(2):
        assert call("setup", "completion").exit_code == 0
    assert (home / ".zshrc").read_text() == (
        'alias x=y\ncommand -v moot >/dev/null && eval "$(_MOOT_COMPLETE=zsh_source moot)"\n'
    )
    assert (
        CliRunner().invoke(main, ["setup", "completion"], prog_name="python -m moothall").exit_code
        == 0
    )
    line = (home / ".zshrc").read_text().splitlines()[-1]
    assert (
        line == 'command -v moothall >/dev/null && eval "$(_MOOTHALL_COMPLETE=zsh_source moothall)"'
    )
    monkeypatch.setenv("SHELL", "/bin/csh")
    assert "expected one of bash, zsh, fish" in call("setup", "completion").stderr


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_list_shows_whole_ids_questions_and_decisions_in_any_width(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = datetime(2026, 11, 16, tzinfo=UTC)
    asked = [
        ("Which queue? " * 20, "redis " * 20),
        ("订单服务要不要单独建库？" * 9, "双十一之后" * 9),
    ]
    lines = [
        SessionLine(
            session=SessionId(f"think_20261116_00{number}"),
            protocol="debate",
            topic=topic,
            status="concluded",
            opened_at=at,
            last_at=at,
            entries=9,
            standing="decided",
            choice=choice,
            what=choice,
            badge=["2 of 3", "all 4"][number],
            reservation=["close", ""][number],
            strength="fair",
            is_demo=number == 1,
            stand_in="demo" if number == 1 else "",
        )
        for number, (topic, choice) in enumerate(asked)
    ]
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system=None)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr("moothall.surfaces.cli.output.build_console", lambda: console)
    assert list(listing._describe_sessions(lines, [], False)) == []
    shown = file.getvalue()
    assert max(cell_len(line) for line in shown.splitlines()) <= width
    for piece in (
        "think_20261116_000",
        "think_20261116_001",
        "Which queue?",
        "redis",
        "订单服务",
        "双十一",
        "(demo)",
        "2 of 3 ! close",
        "all 4",
    ):
        assert piece in shown
    assert len(shown.splitlines()) == (4 if width < 100 else 3)


def test_a_list_in_a_terminal_speaks_the_language_of_its_reader(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold("one")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "\tdecided\t" in call("list").output, "what reads a pipe gets the same words everywhere"
    for width, words in ((80, ["已决定"]), (160, ["已决定", "状态", "问题"])):
        file = io.StringIO()
        console = Console(file=file, width=width, force_terminal=True, color_system=None)
        with monkeypatch.context() as patched:
            patched.setenv("TTY_COMPATIBLE", "1")
            patched.setattr(
                "moothall.surfaces.cli.output.build_console", lambda console=console: console
            )
            assert call("list").exit_code == 0
        assert [word for word in words if word in file.getvalue()] == words
        assert "decided" not in file.getvalue()


def test_a_terminal_shows_the_last_sessions_and_says_how_many_more_there_are(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What reads a pipe or JSON gets all of them, unless it names a number."""

    async def open_many() -> None:
        async with Moot() as moot:
            for number in range(53):
                seats = {"a": "mailbox", "b": "mailbox"}
                await moot.open("Which?", seats=seats, session=f"s{number}")

    asyncio.run(open_many())
    assert len(call("list").stdout.splitlines()) == 53
    assert len(call("list", "--limit", "2").stdout.splitlines()) == 2
    assert "51 more sessions" in call("list", "--limit", "2").stderr
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr(
        "moothall.surfaces.cli.output.build_console",
        lambda: Console(width=120, force_terminal=True, color_system=None),
    )
    shown = call("list")
    assert [f"s{number} " in shown.stdout for number in (2, 3, 52)] == [False, True, True]
    assert shown.stdout.index("s52 ") < shown.stdout.index("s51 ") < shown.stdout.index("s3 ")
    assert call("list", "-n", "1").stdout.count("Which?") == 1
    assert shown.stderr.splitlines()[-1] == "3 more sessions: the same with --limit 0 shows all"
    assert "more sessions" not in call("list", "--limit", "0").stderr
    assert "s0 " in call("list", "--limit", "0").stdout
    found = json.loads(call("list", "--json").stdout)
    assert (len(found["sessions"]), found["total"]) == (53, 53)
    newest = json.loads(call("list", "--json", "--limit", "1").stdout)
    assert ([each["sessionId"] for each in newest["sessions"]], newest["total"]) == (["s52"], 53)
    refused = call("list", "--limit", "-1")
    assert (refused.exit_code, "--limit" in refused.stderr) == (2, True)


def test_asks_without_a_session_lists_those_of_all(home: Path) -> None:
    assert call("asks").output.strip() == "no ask is open"
    for name in ("one", "two"):
        call(
            "run",
            f"Which {name}?",
            "--protocol",
            "debate",
            "--seat",
            "ada=mailbox",
            "--seat",
            "bob=mailbox",
            "--session",
            name,
        )
    hold("three")
    shown = [line.split()[:2] for line in call("asks").output.splitlines()]
    assert shown == [["one", "ada"], ["one", "bob"], ["two", "ada"], ["two", "bob"]]
    asked = json.loads(call("asks", "--seat", "bob", "--json").output)
    assert [
        (each["sessionId"], [ask["seat"] for ask in each["asks"]]) for each in asked["sessions"]
    ] == [
        ("one", ["bob"]),
        ("two", ["bob"]),
    ]


def test_an_invitation_links_to_where_the_server_of_this_home_listened_last(home: Path) -> None:
    assert "http://127.0.0.1:8760/" in call("invite", "--owner").output
    save_server_url(os.environ, "http://127.0.0.1:9123")
    assert json.loads(call("invite", "--owner", "--json").output)["link"].startswith(
        "http://127.0.0.1:9123/"
    )
    assert (
        json.loads(call("invite", "--owner", "--json", "--url", "https://moot.example").output)[
            "url"
        ]
        == "https://moot.example"
    )
    assert "http://127.0.0.1:9123 is not ready" in call("ready").stderr


def test_a_file_that_is_named_says_the_form(home: Path) -> None:
    hold("one")
    assert call("export", "last", "-o", str(home / "meeting.html")).exit_code == 0
    assert (home / "meeting.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    refused = call("export", "one", "-o", str(home / "meeting.pdf"))
    assert (refused.exit_code, "minutes, html, docx or jsonl" in refused.stderr) == (2, True)
    assert not (home / "meeting.pdf").exists()


def test_no_colour_is_printed_where_none_is_wanted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    from moothall.surfaces.cli.output import build_console

    assert build_console().no_color


def test_times_of_shown_minutes_are_those_of_this_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        said = "> #2 · at 2026-11-16T18:47:36Z we met"
        told = localize_times(
            f"s · 2026-11-16T18:47:36Z – 2026-11-16T18:50:00Z · demo\n#2 · **a** · 2026-11-16T18:47:36Z\n{said}"
        )
    finally:
        monkeypatch.undo()
        time.tzset()
    assert (
        told
        == f"s · 2026-11-17 02:47 CST – 2026-11-17 02:50 CST · demo\n#2 · **a** · 2026-11-17 02:47 CST\n{said}"
    )


def test_lists_show_the_time_of_this_clock_and_json_the_offset(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        hold("one")
        assert call("invite", "--owner").exit_code == 0
        now = datetime.now(UTC)
        opened = re.search(r"\t([\d-]+ [\d:]+) CST\t", call("list").output)
        logged = re.search(
            r"^([\d-]+ [\d:]+) CST  token issued", call("access", "log").output, re.MULTILINE
        )
        (row, *_) = json.loads(call("access", "log", "--json").output)
    finally:
        monkeypatch.undo()
        time.tzset()
    for shown in (opened, logged):
        assert shown is not None
        assert abs(datetime.fromisoformat(f"{shown[1]}+08:00") - now) < timedelta(minutes=2)
    assert datetime.fromisoformat(row["at"]).tzinfo is not None
