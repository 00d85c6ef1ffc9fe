"""What a woken agent is told (R-10): the sentence of the source first, then what it would find in the files."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.play_roundtable import ConferenceRun, build_seat

from moothall.domain.effects import Brief
from moothall.domain.facts import Language
from moothall.domain.safe_text import quote_lines, quote_user
from moothall.features.roundtable.facts import RoundtableSettings
from moothall.features.roundtable.rules import RULES
from moothall.features.roundtable.unattended import (
    MENTIONING,
    WITHOUT_TOOLS,
    build_wake_recipe,
    build_wake_text,
    is_without_tools,
)
from moothall.participants.command import MAX_ARGUMENT_LENGTH
from moothall.participants.recipes import Recipe, find_recipe, load_agents

AGENTS = load_agents()
WAKE = "请阅读 .roundtable/GUIDE.md 并以 bob 的身份加入 cache 会议。你的指示是: 回应 ada"
STANCE = "## 立场\n用内存缓存。\n## 分析论证\n快。\n## 回应/提问\n无。"
OTHER = Recipe(name="other", argv=("other", "{prompt}"))


def brief(language: Language = "zh", topic: str = "用哪种缓存？", agenda: str = "") -> Brief:
    """What bob is asked after ada has spoken and the user has added something."""
    settings = RoundtableSettings(max_rounds=2, agenda=agenda, conference="cache")
    table = ConferenceRun(
        build_seat("ada"),
        build_seat("bob", instructions="盯住安全"),
        build_seat("moderator"),
        topic=topic,
        language=language,
        settings=settings,
    )
    table.says(STANCE).give_input("预算减半")
    return RULES.brief(table.state, table.ask)


@pytest.mark.parametrize("name", AGENTS)
def test_every_known_agent_could_speak_from_its_prompt_alone(name: str) -> None:
    """R-5, R-10: agenda, last speeches, its instructions, the user's words and the sections, whether it can read files or not."""
    told = build_wake_text(build_wake_recipe(name), brief(), WAKE)
    assert told.startswith(f"{WAKE}\n\n")
    for part in (
        quote_user("用哪种缓存？"),
        quote_lines(STANCE),
        "盯住安全",
        quote_user("预算减半"),
        "## 立场\n",
        "## 回应/提问\n",
    ):
        assert part in told


@pytest.mark.parametrize("language", ["en", "zh"])
def test_who_has_no_tools_is_told_so_and_not_that_it_might_write_files(language: Language) -> None:
    told = {
        name: build_wake_text(build_wake_recipe(name), brief(language), WAKE).split("\n\n")[1]
        for name in AGENTS
    }
    handless = {"en": "You have no tools here", "zh": "你在这里没有任何工具"}[language]
    assert {name for name in AGENTS if told[name].startswith(handless)} == WITHOUT_TOOLS
    assert len({told[name] for name in AGENTS}) == 2


def test_the_recipes_that_leave_no_tools_are_known() -> None:
    """The list follows from the recipes' own words."""
    without = (("--tools", ""), ("--available-tools=none",), ("--core-tools", "none"))
    found = {
        name
        for name, recipe in AGENTS.items()
        if any("\n".join(words) in "\n".join(recipe.argv) for words in without)
    }
    assert found == WITHOUT_TOOLS
    assert all(is_without_tools(find_recipe(f"{name}:some-model")) for name in WITHOUT_TOOLS)


def test_a_file_that_is_called_as_a_known_agent_says_for_itself() -> None:
    own = Recipe(name="claude", argv=("claude", "--print", "{prompt}"))
    assert not is_without_tools(own)


def test_opencode_may_look_at_the_project_and_no_more(tmp_path: Path) -> None:
    """Unlike the others it is not kept to that by its arguments; and its last word is its answer, not all that it said."""
    recipe = build_wake_recipe("opencode:some/model")
    denied = ("edit", "bash", "webfetch", "task", "external_directory")
    assert json.loads(recipe.environ["OPENCODE_PERMISSION"]) == dict.fromkeys(denied, "deny")
    assert recipe.texts == ("type=text:part.text",)
    assert recipe.argv[-2:] == ("--model", "some/model")


def test_gemini_may_not_leave_its_plan_mode() -> None:
    """Its headless self would approve any plan, and then do anything; in every protocol, and when it goes on with a session."""
    recipe = find_recipe("gemini:some-model")
    for argv in (recipe.argv, recipe.resume):
        assert argv[argv.index("--admin-policy") + 1] == "{file:gemini-looks.toml}"
    ((name, text),) = recipe.files.items()
    assert name == "gemini-looks.toml"
    (rule,) = tomllib.loads(text)["rule"]
    assert rule["decision"] == "deny"
    assert {"exit_plan_mode", "write_file", "run_shell_command"} < set(rule["toolName"])


@pytest.mark.parametrize("name", AGENTS)
def test_a_file_that_somebody_mentions_is_not_read_into_the_prompt(name: str) -> None:
    """What is said is data: gemini and qwen would put the contents of `secret.txt` in the place of its name."""
    told = build_wake_text(
        build_wake_recipe(name),
        brief(topic="See @secret.txt and bob@secret.txt"),
        f"{WAKE} @secret.txt",
    )
    assert ("> See @secret.txt and bob@secret.txt" in told) == (name not in MENTIONING)
    assert (r"> See \@secret.txt and bob\@secret.txt" in told) == (name in MENTIONING)
    assert told.replace("\\@", "").count("@") == (0 if name in MENTIONING else 3)


def test_who_takes_the_prompt_as_an_argument_gets_as_much_of_the_record_as_fits() -> None:
    """Linux takes no more than 128 KiB as one argument; the sentence, and what is asked, are never cut."""
    asked = brief(agenda="缓存" * 24_000)
    told = build_wake_text(OTHER, asked, WAKE)
    assert MAX_ARGUMENT_LENGTH - 3 <= len(told.encode()) <= MAX_ARGUMENT_LENGTH
    assert told.startswith(f"{WAKE}\n\n")
    assert told.endswith(f"\n（此处有删节，其余见文件。）\n\n{asked.own}")
    assert asked.shared in build_wake_text(replace(OTHER, words="{prompt}"), asked, WAKE)


def test_a_record_of_which_nothing_fits_is_named_as_cut() -> None:
    asked = replace(brief(), shared="s" * 100)
    rest = len(build_wake_text(OTHER, replace(asked, shared=""), WAKE).encode())
    longest = replace(
        asked,
        own=asked.own
        + "o" * (MAX_ARGUMENT_LENGTH - rest - len("\n（此处有删节，其余见文件。）".encode())),
    )
    assert "（此处有删节，其余见文件。）" in build_wake_text(OTHER, longest, WAKE)
    assert "（此处有删节" not in build_wake_text(
        OTHER, replace(longest, own=f"{longest.own}o"), WAKE
    )


def test_a_prompt_that_would_not_fit_without_the_record_is_the_wake_alone() -> None:
    told = build_wake_text(OTHER, replace(brief(), own="长" * MAX_ARGUMENT_LENGTH), WAKE)
    assert told.startswith(f"{WAKE}\n\n")
    assert len(told) < 1_000


def test_half_characters_do_not_keep_an_agent_from_being_woken() -> None:
    assert "?" in build_wake_text(OTHER, replace(brief(), shared="a\ud800b"), WAKE)
