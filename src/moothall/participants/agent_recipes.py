"""Recipes for headless coding agents: how each is called, and how its answer is parsed. Pure: its output comes in as bytes.

A custom agent is a file:

    argv = ["my-agent", "--quiet", "{prompt}"]      # {prompt}: the whole prompt; {session}: the session to continue
    words = "{prompt}"                              # optional: what it gets on standard input
    output = "text"                                 # text, json (one document) or jsonl (one document per line)
    text = "result"                                 # where the answer is; with several lines, the last that has it
    session = "session_id"                          # optional: where its session's id is
    resume = ["my-agent", "--resume", "{session}", "{prompt}"]      # optional
    environ = { MY_AGENT_QUIET = "1" }              # optional
    passes = ["OPENAI_", "MY_AGENT_"]               # optional: prefixes of the variables that it may see beside PATH and HOME
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

from moothall.domain.safe_text import one_line
from moothall.errors import BadPanel, UnknownPlatform

Output = Literal["text", "json", "jsonl"]

FAILED: Final = "it failed"
MAX_STARTS: Final = 200
MAX_TOKENS: Final = 10**9
MAX_DOLLARS: Final = 10**6
MAX_SESSION_LENGTH: Final = 200
MAX_ARGUMENT_LENGTH: Final = 120_000
"""The most bytes of one argument (Linux accepts 128 KiB)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How an agent is run.

    `texts`, `sessions`, `models` and `faults` are paths into its output, in the order in which they are tried; a fault that is
    found means that there is no answer. `models` say which model answered: as a text, or as the keys of a table. `model` are the
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
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOutput:
    """The parsed output of an agent."""

    text: str
    session: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    dollars: float | None = None
    model: str = ""


def fill_arguments(argv: tuple[str, ...], prompt: str, session: str, files: Mapping[str, str]) -> list[str]:
    """Fill the placeholders; each argument stays one argument, whatever it contains. `files` are paths by name."""
    known = {"{prompt}": prompt, **{f"{{file:{name}}}": path for name, path in files.items()}}
    # Prompts and files replace whole arguments only: text of a participant can never become a second argument.
    return [known[word] if word in known else word.replace("{session}", session) for word in argv]


def parse_output(recipe: Recipe, out: bytes) -> AgentOutput:
    """Parse the answer from an agent's output; raises ValueError with what was expected."""
    text = out.decode("utf-8", "replace").strip()
    if recipe.output == "text":
        if not text:
            raise ValueError("it printed nothing")
        return AgentOutput(text=text)
    documents = _parse_documents(recipe.output, text)
    fault = _find_last_value(documents, recipe.faults)
    if fault is not None:
        raise ValueError(f"{FAILED}: {str(fault)[:200]}")
    answer = _find_last_value(documents, recipe.texts)
    if not isinstance(answer, str) or not answer.strip():
        raise ValueError(f"no answer at {' or '.join(recipe.texts)}; it printed {text[:120]!r}")
    session = _find_last_value(documents, recipe.sessions)
    return AgentOutput(
        text=answer.strip(),
        # The id is passed back as an argument on resume, so an odd one is not used.
        session=session if isinstance(session, str) and session.isprintable() and len(session) <= MAX_SESSION_LENGTH else "",
        tokens_in=_read_count(documents, recipe.tokens_in),
        tokens_out=_read_count(documents, recipe.tokens_out),
        dollars=_read_dollars(documents, recipe.dollars),
        model=_read_model(documents, recipe.models),
    )


def _parse_documents(output: Output, text: str) -> list[Any]:
    if output == "json":
        return _find_json_document(text)
    documents = []
    # Not `splitlines`: other line separators may occur inside a JSON string.
    for line in text.split("\n"):
        if line.lstrip().startswith("{"):
            try:
                documents.append(json.loads(line))
            except (ValueError, RecursionError):
                continue
    if not documents:
        raise ValueError(f"it printed no JSON lines: {text[:120]!r}")
    return documents


def _find_json_document(text: str) -> list[Any]:
    """Return the first JSON document in a text, whatever is logged around it; raises ValueError."""
    decoder = json.JSONDecoder()
    starts = [at for at, char in enumerate(text) if char in "{["][:MAX_STARTS]
    other: list[Any] = []
    for start in starts:
        try:
            document = decoder.raw_decode(text, start)[0]
        except ValueError:
            continue
        except RecursionError:
            break
        documents = document if isinstance(document, list) else [document]
        if documents and all(isinstance(each, dict) for each in documents):
            return documents
        # A list of other values may be log output such as `[12:00]`: it is only used if no object follows.
        other = other or [documents]
    if other:
        return other
    raise ValueError(f"it printed no JSON: {text[:120]!r}")


def _find_last_value(documents: list[Any], paths: tuple[str, ...]) -> Any:
    """Return the last document's value at the first path that any has; with a `+`, the values of all of them joined."""
    for path in paths:
        values = [value for document in documents if (value := _find_value(document, path.removeprefix("+"))) is not None]
        if values:
            return "".join(map(str, values)) if path.startswith("+") else values[-1]
    return None


def _find_value(document: Any, path: str) -> Any:
    """Return a value by its path, `a.b`, with optional conditions before it: `type=text:part.text`."""
    *conditions, wanted = path.split(":")
    for condition in conditions:
        where, _, value = condition.partition("=")
        if _format_value(_find_value(document, where)) != value:
            return None
    node = document
    for name in wanted.split("."):
        if isinstance(node, list) and name.lstrip("-").isdecimal() and -len(node) <= int(name) < len(node):
            node = node[int(name)]
        elif isinstance(node, dict):
            node = node.get(name)
        else:
            return None
    return node


def _format_value(value: Any) -> str:
    """Format a value as conditions write it: strings bare, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _read_count(documents: list[Any], path: str) -> int:
    count = _find_last_value(documents, (path,)) if path else None
    # Bounded: the numbers come from another program and are added to a budget.
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < MAX_TOKENS else 0


def _read_dollars(documents: list[Any], path: str) -> float | None:
    amount = _find_last_value(documents, (path,)) if path else None
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 <= amount < MAX_DOLLARS:
        return None
    return float(amount)


def _read_model(documents: list[Any], paths: tuple[str, ...]) -> str:
    found = _find_last_value(documents, paths)
    names = list(found) if isinstance(found, dict) else [found]
    return one_line(", ".join(name for name in names if isinstance(name, str)))[:MAX_SESSION_LENGTH]


def load_recipe(path: Path) -> Recipe:
    """Load a custom recipe; raises BadPanel with what is wrong with it."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as cause:
        raise BadPanel(f"the agent file {path} cannot be read: {cause.strerror}") from cause
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as cause:
        raise BadPanel(f"the agent file {path} is no TOML: {cause}") from cause
    known = {"argv", "words", "output", "text", "session", "resume", "environ", "passes"}
    unknown = sorted(set(document) - known)
    if unknown:
        raise BadPanel(f"the agent file {path}: {unknown[0]!r} is no key here; known: {', '.join(sorted(known))}")
    argv = _parse_argv(path, "argv", document.get("argv"))
    resume = _parse_argv(path, "resume", document["resume"]) if "resume" in document else ()
    words, output, text, session = (document.get(key) for key in ("words", "output", "text", "session"))
    output = "text" if output is None else output
    if not isinstance(output, str) or output not in {"text", "json", "jsonl"}:
        raise BadPanel(f"the agent file {path}: output = {output!r}; known: text, json, jsonl")
    if output != "text" and not isinstance(text, str):
        raise BadPanel(f"the agent file {path}: 'text' must say where in its {output} the answer is")
    for key, value in (("words", words), ("text", text), ("session", session)):
        if value is not None and (not isinstance(value, str) or not value or "\0" in value):
            raise BadPanel(f"the agent file {path}: {key} must be a text")
    if output == "text" and text is not None:
        raise BadPanel(f"the agent file {path}: 'text' says where in json or jsonl the answer is, and only there")
    if session is not None and output == "text":
        raise BadPanel(f"the agent file {path}: 'session' says where in json or jsonl its id is, and only there")
    if words is not None and "{prompt}" not in words:
        raise BadPanel(f"the agent file {path}: words must hold {{prompt}}")
    for key, line in (("argv", argv), ("resume", resume)):
        if line and words is None and "{prompt}" not in line:
            raise BadPanel(f"the agent file {path}: neither {key} nor words holds {{prompt}}")
    named = session is not None or any("{session}" in word for word in argv)
    if resume and not (named and any("{session}" in word for word in resume)):
        raise BadPanel(f"the agent file {path}: resume needs {{session}}, and 'session' or argv must say which that is")
    environ = document.get("environ", {})
    if not isinstance(environ, dict) or not all(_is_variable(name, value) for name, value in environ.items()):
        raise BadPanel(f"the agent file {path}: environ must be a table of texts")
    passes = document.get("passes", [])
    if not isinstance(passes, list) or not all(isinstance(name, str) and name and "\0" not in name for name in passes):
        raise BadPanel(f"the agent file {path}: passes must be a list of the beginnings of variables' names")
    return Recipe(
        name=path.stem,
        argv=argv,
        words=words,
        output=output,  # type: ignore[arg-type]  # one of the three, as was checked
        texts=(text,) if isinstance(text, str) else (),
        sessions=(session,) if isinstance(session, str) else (),
        resume=resume,
        environ=environ,
        passes=tuple(passes),
    )


def _is_variable(name: str, value: object) -> bool:
    return bool(name) and "=" not in name and isinstance(value, str) and "\0" not in name + value


def _parse_argv(path: Path, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(word, str) and "\0" not in word for word in value):
        raise BadPanel(f"the agent file {path}: {key} must be a list of words, the program first")
    if not value[0]:
        raise BadPanel(f"the agent file {path}: {key} must be a list of words, the program first")
    program = Path(value[0])
    # A relative program path is resolved against its recipe, so that it is found from any working directory.
    here = str((path.parent / program).absolute()) if len(program.parts) > 1 and not program.is_absolute() else value[0]
    return (here, *value[1:])


def find_recipe(name: str) -> Recipe:
    """Return the recipe of a known agent (`claude`, or `claude:MODEL`), or of a file; raises UnknownPlatform or BadPanel."""
    if name.endswith(".toml"):
        return load_recipe(Path(name))
    agent, colon, model = name.partition(":")
    recipe = load_agents().get(agent)
    if recipe is None:
        raise UnknownPlatform(f"no agent is called {agent!r}; known: {', '.join(sorted(load_agents()))}, or give a .toml file")
    if not colon:
        return recipe
    if not model or not recipe.model:
        raise UnknownPlatform(f"command:{name}: expected command:{agent} or command:{agent}:MODEL")
    chosen = tuple(word.replace("{model}", model) for word in recipe.model)
    return replace(recipe, argv=(*recipe.argv, *chosen), resume=(*recipe.resume, *chosen))


@cache
def load_agents() -> Mapping[str, Recipe]:
    """Return the recipes of the agents that Moot knows, by name."""
    rows = tomllib.loads((files(__package__) / "agents.toml").read_text(encoding="utf-8"))
    return {name: _build_recipe(name, row) for name, row in rows.items()}


def _build_recipe(name: str, row: dict[str, Any]) -> Recipe:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    argv, first, resume = (values.pop(key) for key in ("argv", "first", "resume"))
    return Recipe(name=name, argv=argv + first, resume=argv + resume, **values)
