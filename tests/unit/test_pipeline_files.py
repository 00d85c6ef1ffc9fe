"""What is wrong with a pipeline file is said with the name of the file, the place and what stands there."""

from pathlib import Path

import pytest

from moothall.app.session_options import Options
from moothall.codec.adapters import get_adapter
from moothall.errors import BadSetting
from moothall.features.pipeline.facts import Step
from moothall.features.pipeline.files import (
    build_pipeline_options,
    list_shipped,
    load_pipeline,
    parse_pipeline,
)

AGENT = '[[agent]]\nid = "ada"\nplatform = "mailbox"\n'
STEP = '[[step]]\nname = "plan"\nagent = "ada"\ntask = "Plan it."\n'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (AGENT + '[[step]]\nname = "plan"\nagent = "ada"\n', "step.1.task is missing"),
        (AGENT + STEP + STEP.replace("task", "tusk"), "step.2.task is missing"),
        (
            AGENT + STEP + "gait = true\n",
            "step.1.gait is not a known key; known: name, agent, task, uses, gate, on_reject, back_to, max_rejections",
        ),
        (
            AGENT + STEP + "[pipeline]\npatience = 0\n",
            "pipeline.patience: Input should be greater than 0 (given: 0)",
        ),
        (
            AGENT + STEP + f'max_rejections = "{"x" * 100}"\n',
            f"step.1.max_rejections: Input should be a valid integer, unable to parse string as an integer (given: '{'x' * 60}')",
        ),
        (STEP, "agent is missing"),
        (
            AGENT + STEP + '[[pair]]\nfrom = "ada"\nto = "bob"\n',
            "the pair ada → bob names an unknown agent; agents: ada",
        ),
    ],
)
def test_a_fault_in_a_pipeline_file_is_explained(text: str, fault: str) -> None:
    with pytest.raises(BadSetting) as refused:
        parse_pipeline(text, "plan.toml", Path())
    assert str(refused.value) == f"plan.toml: {fault}"


def test_a_file_that_is_not_toml_is_refused() -> None:
    with pytest.raises(BadSetting, match=r"^plan\.toml is not valid TOML: "):
        parse_pipeline("[[agent]\n", "plan.toml", Path())


def test_a_valid_file_gives_its_agents_steps_and_limits() -> None:
    head = '[pipeline]\ntask = " Do it. "\npatience = 5\nconsult_limit = 0\nconsult_total = 1000\n'
    pipeline = parse_pipeline(head + AGENT + STEP + "max_rejections = 0\n", "plan.toml", Path())
    assert pipeline.task == "Do it."
    step = get_adapter(Step).validate_python(pipeline.settings["steps"][0])
    assert step.max_rejections == 0, "the first rejection may be the last"
    assert [agent.id for agent in pipeline.agents] == ["ada"]
    assert pipeline.settings["patience"] == 5
    assert [step["name"] for step in pipeline.settings["steps"]] == ["plan"]
    assert (pipeline.consult_limit, pipeline.consult_total) == (0, 1000)


def test_every_shipped_pipeline_can_be_loaded_and_others_are_refused_with_their_names() -> None:
    assert all(load_pipeline(name).agents for name in list_shipped())
    with pytest.raises(
        BadSetting,
        match=f"no pipeline is called 'nothing'; known: {', '.join(list_shipped())}, or give a .toml file",
    ):
        load_pipeline("nothing")


ROLES = """
[pipeline]
platform = "demo:first"
[[agent]]
id = "maker"
[[agent]]
id = "boss"
platform = "human"
[[agent]]
id = "tests"
platform = "command:tests.toml"
[[agent]]
id = "writer"
"""


@pytest.mark.parametrize(
    ("options", "platforms"),
    [
        ({}, ["demo:first", "human", "command:/p/tests.toml", "demo:first"]),
        ({"models": ["openai:a"]}, ["openai:a", "human", "command:/p/tests.toml", "openai:a"]),
        (
            {"models": ["openai:a", "openai:b"]},
            ["openai:a", "human", "command:/p/tests.toml", "openai:b"],
        ),
        (
            {"models": ["openai:a"], "seats": ["boss=openai:c"]},
            ["openai:a", "openai:c", "command:/p/tests.toml", "openai:a"],
        ),
    ],
)
def test_models_fill_only_agents_without_a_platform_and_never_a_person(
    options: Options, platforms: list[str]
) -> None:
    """C-11"""
    pipeline = parse_pipeline(ROLES + STEP.replace("ada", "maker"), "plan.toml", Path("/p"))
    panel = build_pipeline_options(pipeline, options).get("panel")
    assert not isinstance(panel, str)
    assert panel is not None
    assert [seat.platform for seat in panel.seats] == platforms
