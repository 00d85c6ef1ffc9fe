"""`moot demo`, what `make run` begins with, and demos over JSON-RPC."""

import json
import re
import threading
import time
from pathlib import Path

import pytest
from tests.acceptance.doors import DEADLINE, Cli, Terminal, facts, until
from tests.acceptance.server import Refused, Server

ROOT = Path(__file__).resolve().parents[2]
ONE_WAY = "There are two ways to see a meeting now"


def press_keys(terminal: Terminal, keys: str) -> threading.Thread:
    """Somebody who presses these keys in turn until the command has ended."""

    def press() -> None:
        at = 0
        while terminal.process.poll() is None:
            terminal.type(keys[at % len(keys)])
            at += 1
            time.sleep(0.02)

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    return thread


def test_the_list_has_one_line_for_each_protocol(cli: Cli) -> None:
    lines = cli("demo", "--list").out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "persona",
        "debate",
        "advisory",
        "consensus",
        "roundtable",
        "consultation",
        "swarm",
        "pipeline",
    ]
    assert [each["name"] for each in cli.json("demo", "--list", "--language", "zh")["demos"]][
        :2
    ] == ["persona", "debate"]
    assert cli("list").out == ""


def test_a_quiet_demo_prints_its_answer_alone(cli: Cli) -> None:
    """L-2, T-1: `-q` is what it is in every command that holds a session; what to mind goes to standard error."""
    done = cli("demo", "debate", "--language", "en", "-q")
    assert done.out == "after the peak.\n"
    assert done.err == "“not at all” had 3 of 4 too; their first answers broke the tie.\n"


def test_a_pipe_gets_the_first_demo_at_once_and_lists_mark_it(cli: Cli) -> None:
    done = cli("demo")
    assert "persona       Open the source of our engine?" in done.out
    assert "Half a person is missing from this plan" in done.out
    assert "A demo: the words were written in advance" in done.out
    session = re.search(r"think_\d+_\d+", done.out)
    assert session is not None
    assert cli("list").out.split("\t")[1] == "persona (demo)"
    assert cli.json("list")["sessions"][0]["isDemo"] is True
    assert cli.json("decisions") == {"decisions": []}
    assert cli("verify", session[0]).code == 0
    assert cli.json("demo", "advisory", "--language", "zh")["choice"] == "可以，先试二十元以下"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["demo", "nothing"], "no demo is called 'nothing'; the demos are: persona, debate"),
        (["demo", "../persona"], "no demo is called"),
        (
            ["demo", "debate", "--fast", "--pace", "slow"],
            "--fast and --pace slow contradict each other",
        ),
        (["run", "Why?", "--seat", "Mara=demo:persona.en"], "plays its part in a demo only"),
    ],
)
def test_a_careless_call_is_refused(cli: Cli, words: list[str], expected: str) -> None:
    assert expected in cli(*words, code=2).err
    assert cli("list").out == ""


def test_a_person_chooses_a_demo_and_goes_on_with_keys(cli: Cli) -> None:
    """Whatever else is pressed changes nothing; the terminal is as before in the end."""
    with Terminal(cli, "demo") as terminal:
        terminal.wait_for("Which one? (Enter: persona)")
        terminal.type("chess\n")
        terminal.wait_for("persona, debate, advisory")
        terminal.type("adv\n")
        terminal.wait_for("Enter or space: go on at once")
        thread = press_keys(terminal, " x\r\x1b")
        assert terminal.ended() == 0
        thread.join(DEADLINE)
        shown = terminal.raw.decode()
    assert "Without the ceiling I am against it" in " ".join(
        re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).split()
    )
    assert "Next: moot show" in shown


def test_a_demo_is_stopped_and_resumed_like_any_session(cli: Cli) -> None:
    with Terminal(cli, "demo", "debate", "--pace", "slow", "--session", "shown") as terminal:
        terminal.wait_for("has written")
        terminal.type("\x03")
        assert terminal.ended() == 130
        assert b"moot resume shown" in terminal.raw
    with cli.start("resume", "shown") as killed:
        killed.wait_for("Pavel has written")
        killed.process.kill()
    before = facts(cli("export", "shown", "jsonl").out)
    with Terminal(cli, "resume", "shown") as terminal:
        terminal.wait_for("Ctrl-C stops")
        press_keys(terminal, " ")
        assert terminal.ended() == 0
    after = facts(cli("export", "shown", "jsonl").out)
    assert after[: len(before)] == before
    assert not [fact for fact in after if fact["fact"] == "seat_lost"]
    assert "somebody's full-time work" in cli("show", "shown").out


@pytest.mark.parametrize("name", ["consultation", "pipeline"])
def test_every_record_that_a_demo_names_is_there(cli: Cli, name: str) -> None:
    """The paths begin with the folder that they are in; the current one has no such file."""
    said = cli("demo", name, "--fast", "--session", "shown").out
    for text in (said, cli("show", "shown").out, cli("export", "shown", "html").out):
        paths = re.findall(r"[\w/]*docs/consultation/\w+\.md", text)
        assert paths
        for path in paths:
            assert path.startswith("MOOT_HOME/")
            assert (Path(cli.environ["MOOT_HOME"]) / path.removeprefix("MOOT_HOME/")).is_file()


def test_without_a_name_and_a_terminal_the_demos_are_listed_and_the_first_is_played(
    cli: Cli,
) -> None:
    done = cli("demo", "--language", "en")
    assert done.out.startswith(cli("demo", "--list", "--language", "en").out)
    assert cli.json("list")["sessions"][0]["protocol"] == "persona"


def test_without_a_key_and_a_terminal_the_demo_is_played_and_says_how_to_go_on(cli: Cli) -> None:
    done = cli("demo", "--ask", "Should we?")
    assert done.out.startswith("No provider's key and no model server was found.")
    assert ONE_WAY in done.out
    assert "1  the demo" in done.out
    assert "2  the small model" in done.out
    assert "Half a person is missing from this plan" in done.out
    assert "moot run 'Should we?' --model embedded" in done.err


def test_without_a_key_a_person_is_asked_which_one(cli: Cli) -> None:
    with Terminal(cli, "demo", "--ask", "Should we?") as terminal:
        terminal.wait_for("1 or 2?")
        terminal.type("both\n")
        terminal.type("1\n")
        terminal.wait_for("go on at once")
        press_keys(terminal, " ")
        assert terminal.ended() == 0


def test_with_a_key_the_meeting_is_held_as_ever(tmp_path: Path) -> None:
    """The question goes to the model that was found; here it cannot be reached, and no demo hides that."""
    cli = Cli(
        tmp_path / "home", tmp_path, OPENAI_API_KEY="k", OPENAI_BASE_URL="http://127.0.0.1:9/v1"
    )
    done = cli("demo", "--ask", "Should we?", code=1)
    assert ONE_WAY not in done.out
    assert cli("list").out == ""


def test_make_run_offers_the_demo_and_takes_a_topic() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "$(if $(filter file,$(origin TOPIC)),demo --ask,run)" in makefile


def test_a_demo_is_played_over_json_rpc(cli: Cli) -> None:
    """It is hosted: a server that dies in the middle plays on when it is started again."""
    with Server(cli) as server:
        client = server.local
        assert client("moot.listDemos")["demos"][0]["name"] == "persona"
        assert (
            client("moot.listDemos", language="zh")["demos"][1]["title"]
            == "双十一之前要不要拆订单库？"
        )
        with pytest.raises(Refused, match="no demo is called"):
            client("moot.playDemo", name="chess")
        with pytest.raises(Refused, match="pace"):
            client("moot.playDemo", name="persona", pace="warp")
        played = client("moot.playDemo", name="advisory", pace="fast", idempotencyKey="one")
        assert client("moot.playDemo", name="advisory", pace="fast", idempotencyKey="one") == played
        until(
            lambda: (
                client("moot.getSession", sessionId=played["sessionId"])["status"] == "concluded"
            )
        )
        slow = client("moot.playDemo", name="debate", language="zh", pace="quick")["sessionId"]
        until(lambda: client("moot.getEntries", sessionId=slow, after=0)["entries"][3:])
        server.kill()
        server.start()
        client = server.local
        count = len(client("moot.getEntries", sessionId=slow, after=0)["entries"])
        until(lambda: len(client("moot.getEntries", sessionId=slow, after=0)["entries"]) > count)
        lines = {line["sessionId"]: line for line in client("moot.listSessions")["sessions"]}
        assert [lines[each]["isDemo"] for each in (played["sessionId"], slow)] == [True, True]
        assert client("cstp.listDecisions")["decisions"] == []
        client("moot.cancelSession", sessionId=slow)


def test_the_cli_prints_nothing_of_another_language(cli: Cli) -> None:
    shown = json.dumps(cli.json("demo", "debate"), ensure_ascii=False)
    assert re.search(r"[一-鿿]", shown) is None


def test_reading_speed_is_what_people_read() -> None:
    """Two hundred to three hundred English words, four to six hundred Chinese characters in a minute."""
    from moothall.participants.script import READ_PER_SECOND

    assert 200 <= READ_PER_SECOND["en"] * 60 / 6 <= 300
    assert 400 <= READ_PER_SECOND["zh"] * 60 <= 600
