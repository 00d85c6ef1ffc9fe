"""How agents are run: the recipes of those that Moot knows, and of files.

A recipe says how an agent is called, and where its answer is in what it prints. A custom agent is a file:

    argv = ["my-agent", "--quiet", "{prompt}"]      # {prompt}: the whole prompt; {session}: the session to continue
    words = "{prompt}"                              # optional: what it gets on standard input
    output = "text"                                 # text, json (one document) or jsonl (one document per line)
    text = "result"                                 # where the answer is; with several lines, the last that has it
    session = "session_id"                          # optional: where its session's id is
    resume = ["my-agent", "--resume", "{session}", "{prompt}"]      # optional
    environ = { MY_AGENT_QUIET = "1" }              # optional
    passes = ["OPENAI_", "MY_AGENT_"]               # optional: prefixes of the variables that it may see beside PATH and HOME

A program that speaks the Agent Client Protocol has `argv` and `acp = true`, perhaps `environ` and `passes`. A program that
judges at a gate of a pipeline has `argv` and `judges = true`, perhaps `words`, `environ` and `passes`. It runs in the folder of
its file; its exit status is the verdict (0 approves), and what it prints are the reasons.
"""

import os
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

from moothall.disk.text_files import read_toml_file
from moothall.errors import BadPanel, UnknownPlatform

Output = Literal["text", "json", "jsonl"]

PASSED: Final = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LANG",
        "LC_ALL",
        "TMPDIR",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_CACHE_HOME",
    }
    | {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"}
)
"""The environment variables that every program needs; a recipe names further ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How an agent is run.

    `texts`, `sessions`, `models` and `faults` are paths into its output, in the order in which they are tried; a fault that
    is there: no answer. `models` say which model answered: as a text, or as the keys of a table. `model` are the
    arguments that choose a model; `passes` are prefixes of the variables that it may see; `files` are texts that it needs as
    files: `{file:NAME}` among its arguments stands for the path of one.
    """

    name: str
    argv: tuple[str, ...]
    words: str | None = None
    output: Output = "text"
    texts: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    tokens_in: str = ""
    tokens_out: str = ""
    dollars: str = ""
    faults: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    passes: tuple[str, ...] = ()
    version: tuple[str, ...] = ("--version",)
    install: str = ""
    acp: tuple[str, ...] = ()
    """How it is started to speak the Agent Client Protocol; () where it does not."""
    acp_install: str = ""
    models: tuple[str, ...] = ()
    judges: bool = False
    """Whether its exit status is a verdict."""
    folder: Path | None = None
    """Where it runs; None for a folder of its own."""


def load_recipe(path: Path) -> Recipe:
    """Load a custom recipe; raises BadPanel with what is wrong with it."""
    document = read_toml_file(path, f"the agent file {path}", BadPanel)
    known = {
        "argv",
        "words",
        "output",
        "text",
        "session",
        "resume",
        "environ",
        "passes",
        "judges",
        "acp",
    }
    unknown = sorted(set(document) - known)
    if unknown:
        raise BadPanel(
            f"the agent file {path}: {unknown[0]!r} is no key here; known: {', '.join(sorted(known))}"
        )
    argv = _parse_argv(path, "argv", document.get("argv"))
    resume: tuple[str, ...] = ()
    if "resume" in document:
        resume = _parse_argv(path, "resume", document["resume"])
    words, text, session = document.get("words"), document.get("text"), document.get("session")
    output = document.get("output", "text")
    if not isinstance(output, str) or output not in {"text", "json", "jsonl"}:
        raise BadPanel(f"the agent file {path}: output = {output!r}; known: text, json, jsonl")
    if output != "text" and not isinstance(text, str):
        raise BadPanel(
            f"the agent file {path}: 'text' must say where in its {output} the answer is"
        )
    for key, value in (("words", words), ("text", text), ("session", session)):
        if value is not None and (not isinstance(value, str) or not value or "\0" in value):
            raise BadPanel(f"the agent file {path}: {key} must be a text")
    for key, value, what in (("text", text, "the answer"), ("session", session, "its id")):
        if output == "text" and value is not None:
            raise BadPanel(
                f"the agent file {path}: {key!r} says where in json or jsonl {what} is, and only there"
            )
    if words is not None and "{prompt}" not in words:
        raise BadPanel(f"the agent file {path}: words must hold {{prompt}}")
    judges = document.get("judges", False)
    if not isinstance(judges, bool) or (
        judges and {"output", "session", "resume"} & document.keys()
    ):
        raise BadPanel(
            f"the agent file {path}: judges must be true or false, without output, session and resume"
        )
    acp = document.get("acp", False)
    if not isinstance(acp, bool) or (
        acp and {"words", "output", "session", "resume", "judges"} & document.keys()
    ):
        raise BadPanel(
            f"the agent file {path}: acp must be true or false, beside argv, environ and passes alone"
        )
    for key, line in (("argv", argv), ("resume", resume)):
        if line and words is None and "{prompt}" not in line and not judges and not acp:
            raise BadPanel(f"the agent file {path}: neither {key} nor words holds {{prompt}}")
    named = session is not None or any("{session}" in word for word in argv)
    if resume and not (named and any("{session}" in word for word in resume)):
        raise BadPanel(
            f"the agent file {path}: resume needs {{session}}, and 'session' or argv must say which that is"
        )
    texts = (text,) if isinstance(text, str) else ()
    sessions = (session,) if isinstance(session, str) else ()
    return Recipe(
        name=path.stem,
        argv=argv,
        words=words,
        output=output,  # type: ignore[arg-type]  # one of the three, as was checked
        texts=texts,
        sessions=sessions,
        resume=resume,
        **_parse_variables(path, document),
        judges=judges,
        acp=argv if acp else (),
        folder=path.absolute().parent if judges else None,
    )


def _parse_variables(path: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    environ, passes = document.get("environ", {}), document.get("passes", [])
    if not isinstance(environ, dict) or not all(
        name and "=" not in name and isinstance(value, str) and "\0" not in name + value
        for name, value in environ.items()
    ):
        raise BadPanel(f"the agent file {path}: environ must be a table of texts")
    if not isinstance(passes, list) or not all(
        isinstance(name, str) and name and "\0" not in name for name in passes
    ):
        raise BadPanel(
            f"the agent file {path}: passes must be a list of the beginnings of variables' names"
        )
    return {"environ": environ, "passes": tuple(passes)}


def _parse_argv(path: Path, key: str, value: object) -> tuple[str, ...]:
    is_list = isinstance(value, list) and all(
        isinstance(word, str) and "\0" not in word for word in value
    )
    if not isinstance(value, list) or not is_list or not value or not value[0]:
        raise BadPanel(f"the agent file {path}: {key} must be a list of words, the program first")
    program = Path(value[0])
    # A relative program path is resolved against its recipe, so that it is found from any working directory.
    if len(program.parts) > 1 and not program.is_absolute():
        return (str((path.parent / program).absolute()), *value[1:])
    return tuple(value)


def find_recipe(name: str) -> Recipe:
    """Return the recipe of a known agent (`claude`, or `claude:MODEL`), or of a file; raises UnknownPlatform or BadPanel."""
    if name.endswith(".toml"):
        recipe = load_recipe(Path(name))
        if recipe.acp:
            raise BadPanel(
                f"the agent file {name} says that it speaks ACP; its platform is acp:{name}"
            )
        return recipe
    agent, colon, model = name.partition(":")
    known = load_agents().get(agent)
    if known is None:
        raise UnknownPlatform(
            f"no agent is called {agent!r}; known: {', '.join(sorted(load_agents()))}, or give a .toml file"
        )
    if not colon:
        return known
    if not model or not known.model:
        raise UnknownPlatform(f"command:{name}: expected command:{agent} or command:{agent}:MODEL")
    chosen = tuple(word.replace("{model}", model) for word in known.model)
    return replace(known, argv=(*known.argv, *chosen), resume=(*known.resume, *chosen))


def find_acp_recipe(name: str) -> Recipe:
    """Return how to start a known agent, a file's or a command to speak ACP; raises UnknownPlatform or BadPanel."""
    if name.endswith(".toml"):
        recipe = load_recipe(Path(name))
        if not recipe.acp:
            raise BadPanel(
                f"the agent file {name} does not say `acp = true`; a program that prints its answer is command:{name}"
            )
        return recipe
    if name in load_agents():
        return load_agents()[name]
    try:
        argv = shlex.split(name)
    except ValueError as cause:
        raise UnknownPlatform(f"acp:{name}: {cause}") from cause
    if not argv or not argv[0] or "\0" in name:
        raise UnknownPlatform(
            f"acp:{name}: expected acp:AGENT ({', '.join(sorted(load_agents()))}), acp:FILE.toml or acp:COMMAND"
        )
    program = Path(argv[0])
    # It runs in a folder of its own.
    if len(program.parts) > 1:
        argv[0] = str(program.absolute())
    line = tuple(argv)
    return Recipe(name=program.name.strip(".") or "agent", argv=line, acp=line)


@cache
def load_agents() -> Mapping[str, Recipe]:
    """Return the recipes of the agents that Moot knows, by name."""
    rows = tomllib.loads((files(__package__) / "agents.toml").read_text(encoding="utf-8"))
    agents = {}
    for name, row in rows.items():
        values: dict[str, Any] = {}
        for key, value in row.items():
            values[key] = tuple(value) if isinstance(value, list) else value
        argv, first, resume = values.pop("argv"), values.pop("first"), values.pop("resume")
        agents[name] = Recipe(name=name, argv=argv + first, resume=argv + resume, **values)
    return agents


def build_environ(recipe: Recipe, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the program may see; never the whole environment, which may contain other keys."""
    passed = {"PATH": os.defpath}
    for name, value in environ.items():
        if name in PASSED or name.startswith(recipe.passes):
            passed[name] = value
    return {**passed, "TERM": "dumb", "NO_COLOR": "1", **recipe.environ}
