"""Coding agents that run headless: how each is called, and how its answer is read. Pure: what it prints comes in as bytes.

An agent of the user's own is a file:

    argv = ["my-agent", "--quiet", "{prompt}"]      # {prompt}: the whole prompt; {session}: the session to go on with
    words = "{prompt}"                              # optional: what it gets on standard input
    output = "text"                                 # text, json (one document) or jsonl (one document a line)
    text = "result"                                 # where the answer is; of several lines, the last that has it
    session = "session_id"                          # optional: where its session's id is
    resume = ["my-agent", "--resume", "{session}", "{prompt}"]      # optional
    environ = { MY_AGENT_QUIET = "1" }              # optional
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from moot.errors import BadPanel, UnknownPlatform

Output = Literal["text", "json", "jsonl"]

LONGEST_ARGUMENT: Final = 120_000
"""Bytes that one argument may have (Linux takes 128 KiB)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How an agent is run. `texts` and `sessions` are paths into what it prints, in the order in which they are tried."""

    name: str
    argv: tuple[str, ...]
    words: str | None = None
    output: Output = "text"
    texts: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    tokens_in: str = ""
    tokens_out: str = ""
    dollars: str = ""
    fault: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    passes: tuple[str, ...] = ()
    version: tuple[str, ...] = ("--version",)
    install: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What an agent's output says."""

    text: str
    session: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    dollars: float | None = None


def filled(argv: tuple[str, ...], prompt: str, session: str = "") -> list[str]:
    """The arguments with what they stand for; each stays one argument, whatever is in it."""
    return [word.replace("{session}", session) if word != "{prompt}" else prompt for word in argv]


def printed(recipe: Recipe, out: bytes) -> Printed:
    """The answer in an agent's output; raises ValueError saying what was expected."""
    text = out.decode("utf-8", "replace").strip()
    if recipe.output == "text":
        if not text:
            raise ValueError("it printed nothing")
        return Printed(text=text)
    documents = _documents(recipe.output, text)
    fault = _last(documents, (recipe.fault,)) if recipe.fault else None
    found = _last(documents, recipe.texts)
    if not isinstance(found, str) or not found.strip():
        told = f": {str(fault)[:200]}" if fault else f"; it printed {text[:120]!r}"
        raise ValueError(f"no answer at {' or '.join(recipe.texts)}{told}")
    session = _last(documents, recipe.sessions)
    return Printed(
        text=found.strip(),
        session=session if isinstance(session, str) else "",
        tokens_in=_count(documents, recipe.tokens_in),
        tokens_out=_count(documents, recipe.tokens_out),
        dollars=_money(documents, recipe.dollars),
    )


def _documents(output: Output, text: str) -> list[Any]:
    if output == "json":
        try:
            found = json.loads(text[min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=0) :])
        except (ValueError, RecursionError) as cause:
            raise ValueError(f"it printed no JSON: {text[:120]!r}") from cause
        return found if isinstance(found, list) else [found]
    documents = []
    for line in text.splitlines():
        if line.lstrip().startswith("{"):
            try:
                documents.append(json.loads(line))
            except (ValueError, RecursionError):
                continue
    if not documents:
        raise ValueError(f"it printed no JSON lines: {text[:120]!r}")
    return documents


def _last(documents: list[Any], paths: tuple[str, ...]) -> Any:
    """What the last document has at the first path that any has."""
    for path in paths:
        for document in reversed(documents):
            found = _at(document, path)
            if found is not None:
                return found
    return None


def _at(document: Any, path: str) -> Any:
    """A value by its path: `a.b`, with conditions before it: `type=text:part.text`."""
    condition, colon, rest = path.rpartition(":")
    if colon:
        where, _, wanted = condition.partition("=")
        if str(_at(document, where)) != wanted:
            return None
    value = document
    for name in rest.split("."):
        if isinstance(value, list) and name.lstrip("-").isdecimal() and -len(value) <= int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict):
            value = value.get(name)
        else:
            return None
    return value


def _count(documents: list[Any], path: str) -> int:
    found = _last(documents, (path,)) if path else None
    return found if isinstance(found, int) and found >= 0 else 0


def _money(documents: list[Any], path: str) -> float | None:
    found = _last(documents, (path,)) if path else None
    return float(found) if isinstance(found, int | float) and found >= 0 else None


def recipe_file(path: Path) -> Recipe:
    """A recipe of the user's own; raises BadPanel saying what is wrong with it."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as cause:
        raise BadPanel(f"the agent file {path} cannot be read: {cause.strerror}") from cause
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as cause:
        raise BadPanel(f"the agent file {path} is no TOML: {cause}") from cause
    known = {"argv", "words", "output", "text", "session", "resume", "environ"}
    unknown = sorted(set(found) - known)
    if unknown:
        raise BadPanel(f"the agent file {path}: {unknown[0]!r} is no key here; known: {', '.join(sorted(known))}")
    argv = _words(path, "argv", found.get("argv"))
    words, output = found.get("words"), found.get("output", "text")
    if output not in {"text", "json", "jsonl"}:
        raise BadPanel(f"the agent file {path}: output = {output!r}; known: text, json, jsonl")
    if output != "text" and not isinstance(found.get("text"), str):
        raise BadPanel(f"the agent file {path}: 'text' must say where in its {output} the answer is")
    if "{prompt}" not in argv and words is None:
        raise BadPanel(f"the agent file {path}: neither argv nor words holds {{prompt}}")
    environ = found.get("environ", {})
    if not isinstance(environ, dict) or not all(isinstance(value, str) for value in environ.values()):
        raise BadPanel(f"the agent file {path}: environ must be a table of texts")
    return Recipe(
        name=path.stem,
        argv=argv,
        words=words,
        output=output,
        texts=(found["text"],) if "text" in found else (),
        sessions=(found["session"],) if "session" in found else (),
        resume=_words(path, "resume", found["resume"]) if "resume" in found else (),
        environ=environ,
    )


def _words(path: Path, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(word, str) and word for word in value):
        raise BadPanel(f"the agent file {path}: {key} must be a list of words, the program first")
    return tuple(value)


def recipe_of(name: str) -> Recipe:
    """The recipe of a known agent, or of a file; raises UnknownPlatform or BadPanel."""
    if name.endswith(".toml"):
        return recipe_file(Path(name))
    if name not in AGENTS:
        raise UnknownPlatform(f"no agent is called {name!r}; known: {', '.join(sorted(AGENTS))}, or give a .toml file")
    return AGENTS[name]


AGENTS: Final[Mapping[str, Recipe]] = {}
