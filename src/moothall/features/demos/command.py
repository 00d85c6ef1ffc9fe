"""`moot demo`: a meeting that was written in advance, played by the real rules at reading speed."""

import shlex
import sys
from typing import NoReturn

import click
from click.core import ParameterSource
from rich.text import Text

from moothall.app.discovery import discover_platforms
from moothall.features.demos.shipped import FIRST, Demo, build_demo_options, list_demos, load_demo
from moothall.features.demos.words import DEMO_COMMAND
from moothall.participants.script import PACES, Pace
from moothall.plugins import (
    BadSetting,
    HoldOptions,
    Language,
    Moot,
    Options,
    TerminalSession,
    WaitCommand,
    output,
    session_options,
)
from moothall.surfaces.cli.main import guess_language
from moothall.surfaces.cli.run import run
from moothall.surfaces.cli.terminal_session import follow_keys


@click.command(cls=WaitCommand)
@click.argument("name", metavar="[PROTOCOL]", required=False)
@click.option(
    "--pace",
    type=click.Choice(PACES),
    help="How fast it plays. Default: reading; without a terminal: fast.",
)
@click.option("--fast", is_flag=True, help="The same as --pace fast: without waiting.")
@click.option("--list", "is_listing", is_flag=True, help="List the demos and play none.")
@click.option(
    "--ask",
    "topic",
    metavar="TOPIC",
    help="As `make run`: ask the models that are found here; a demo where none is.",
)
@session_options("demo")
def demo(
    *,
    name: str | None,
    pace: Pace | None,
    fast: bool,
    is_listing: bool,
    topic: str | None,
    options: Options,
    hold: HoldOptions,
) -> None:
    """Play a meeting of PROTOCOL that was written in advance: a real question, real disagreement, a decision.

    Rules, record, tally and reports are the real ones; only the words of the seats come from a script. It is recorded like any
    session and marked as a demo: nothing of it enters decision memory, trust or breakers. In a terminal it plays at reading
    speed, and Enter or space goes on at once. Without PROTOCOL it lists the demos and asks, or plays the first; without
    --language it speaks the language of your terminal.

    \b
    moot demo
    moot demo debate --language zh
    moot demo swarm --pace quick
    moot demo --ask "Should we rewrite it?"
    """
    if topic is not None:
        context = click.get_current_context()
        if [
            each
            for each in context.params
            if context.get_parameter_source(each) is ParameterSource.COMMANDLINE
        ] != ["topic"]:
            raise click.UsageError("--ask holds a meeting of its own; give it alone")
        ask_first_question(topic)
    language, as_json = options.get("language") or guess_language(), hold.as_json
    terminal = TerminalSession(required=hold.required, is_quiet=hold.quiet)

    async def work() -> int:
        if fast and pace not in {None, "fast"}:
            raise BadSetting(f"--fast and --pace {pace} contradict each other; give one of them")
        if is_listing:
            print_demos(language, as_json=as_json)
            return output.DONE
        chosen = (
            load_demo(name, language)
            if name is not None
            else choose_demo(language, as_json=as_json)
        )
        is_unseen = as_json or hold.quiet or not sys.stdout.isatty()
        speed: Pace = "fast" if fast or (pace is None and is_unseen) else pace or "reading"
        return await play(terminal, chosen, speed, session=options.get("session"), as_json=as_json)

    raise SystemExit(output.run(work, as_json=as_json, stopped=terminal.describe_stop))


async def play(
    terminal: TerminalSession,
    chosen: Demo,
    pace: Pace,
    *,
    session: str | None = None,
    as_json: bool = False,
) -> int:
    """Open a demo, run it in this terminal, and say what can be done with it."""
    words = DEMO_COMMAND[chosen.language]
    async with terminal.open_moot() as moot:
        options = build_demo_options(chosen, moot.environ, pace=pace)
        options["session"] = session
        terminal.session = await moot.open(chosen.topic, **options)
        if as_json or terminal.is_quiet:
            return await terminal.hold(moot, as_json=as_json)
        console = output.build_console()
        console.print(Text(f"{chosen.protocol} · {chosen.title}", style="bold"))
        console.print(Text(chosen.topic), soft_wrap=not console.is_terminal)
        console.print(Text(words.what, style="dim"), soft_wrap=not console.is_terminal)
        console.print()
        with follow_keys(moot) as has_keys:
            if has_keys and pace != "fast":
                console.print(Text(words.keys, style="dim"))
            code = await terminal.hold(moot, as_json=False)
        output.print_note(words.after.format(session=terminal.session))
        return code


def print_demos(language: Language, *, as_json: bool) -> None:
    demos = list_demos(language)
    if as_json:
        # Imported here: it brings every call that opens a session.
        from moothall.features.demos.operations import build_demos_out

        output.print_json(build_demos_out(language))
        return
    for each in demos:
        output.print_line(f"{each.name:<13} {each.title} {each.summary}")


def choose_demo(language: Language, *, as_json: bool) -> Demo:
    """The demo that a person at the terminal chooses from the list; the first one where nobody can choose."""
    words, demos = DEMO_COMMAND[language], list_demos(language)
    if as_json:
        return load_demo(FIRST, language)
    print_demos(language, as_json=False)
    output.print_line()
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        output.print_note(words.listed)
        return load_demo(FIRST, language)
    names = [each.name for each in demos]
    while True:
        typed = (
            click.prompt(
                words.which.format(first=FIRST), default="", show_default=False, prompt_suffix=" "
            )
            .strip()
            .lower()
        )
        if not typed:
            return load_demo(FIRST, language)
        if typed in names:
            return load_demo(typed, language)
        matching = [name for name in names if name.startswith(typed)]
        if len(matching) == 1:
            return load_demo(matching[0], language)
        if typed.isdecimal() and 1 <= int(typed) <= len(names):
            return load_demo(names[int(typed) - 1], language)
        output.print_note(", ".join(names))


def ask_first_question(topic: str) -> NoReturn:
    """Hold a meeting with the models that Moot discovers here; where none is, offer a demo or the embedded model."""
    terminal = TerminalSession()

    async def find() -> tuple[tuple[str, ...], list[str]]:
        async with Moot() as moot:
            discovered = await discover_platforms(moot.environ, moot.seating)
            if discovered.best:
                return discovered.best, []
            return (), [
                name
                for name, version in (await moot.seating.agents()).items()
                if version is not None
            ]

    models, agents = output.run(find)
    if models:
        run_in_place(topic)
    language = guess_language()
    words = DEMO_COMMAND[language]
    output.print_line(f"{words.offer}\n  {words.first_way}\n  {words.second_way}")
    if agents:
        command = f"moot run {shlex.quote(topic)} --model command:{agents[0]}"
        output.print_line(f"  {words.agents.format(agents=', '.join(agents), command=command)}")
    is_asking = sys.stdin.isatty() and sys.stdout.isatty()
    if is_asking and ask_way(language) == "2":
        run_in_place(topic, "--model", "embedded")

    async def work() -> int:
        code = await play(terminal, load_demo(FIRST, language), "reading" if is_asking else "fast")
        if not is_asking:
            output.print_note(words.go_on.format(topic=shlex.quote(topic)))
        return code

    raise SystemExit(output.run(work, stopped=terminal.describe_stop))


def ask_way(language: Language) -> str:
    """Which of the two ways a person wants: 1 or 2."""
    while True:
        typed: str = click.prompt(
            DEMO_COMMAND[language].choose_way, default="1", show_default=False, prompt_suffix=" "
        ).strip()
        if typed in {"1", "2"}:
            return typed


def run_in_place(topic: str, *more: str) -> NoReturn:
    """Go on as `moot run`: the same command that a person would type."""
    raise SystemExit(run.main([*more, "--", topic], prog_name="moot run"))
