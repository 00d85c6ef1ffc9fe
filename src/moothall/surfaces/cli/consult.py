"""`moot consult`: one seat's question to another, with its record."""

import click

from moothall.app.consultations import Consult
from moothall.app.moot import Options
from moothall.app.panels import Panel, load_panel, parse_seat_word
from moothall.domain.facts import Language
from moothall.domain.ids import parse_seat_id
from moothall.domain.language import detect_language
from moothall.domain.roster import MAILBOX, Seat
from moothall.errors import BadSetting
from moothall.locale.texts import list_languages
from moothall.surfaces.cli import output
from moothall.surfaces.cli.run import TerminalSession, exit_with


@click.command(short_help="Ask one participant on behalf of another, with a record.")
@click.argument("question")
@click.option("--from", "asker", required=True, metavar="NAME", help="Who asks: you, or another agent; needs no platform.")
@click.option("--to", required=True, metavar="NAME", help="Who is asked.")
@click.option("--seat", "seats", multiple=True, metavar="NAME=PLATFORM", help="The participant behind a name; can be repeated.")
@click.option("--panel", metavar="NAME|FILE", help="A preset or a panel file with the seats.")
@click.option("--model", "models", multiple=True, metavar="PLATFORM", help="Fills seats without a platform.")
@click.option("--background", default="", help="Why the question is asked.")
@click.option("--understanding", default="", help="What the asker believes so far.")
@click.option("--kind", type=click.Choice(["knowledge", "confirmation", "feedback"]), default="knowledge", show_default=True)
@click.option("--project", type=click.Path(), help="The folder that holds docs/consultation/. Default: the current folder.")
@click.option("--language", type=click.Choice(list_languages()), help="Default: the question's language.")
@click.option("--session", metavar="ID", help="The session's id.")
@click.option("--wait", is_flag=True, help="Wait here for a mailbox seat instead of ending the command.")
@click.option("--no-check", is_flag=True, help="Skip the check that the seat can answer.")
@output.json_option
def consult(
    *,
    question: str,
    asker: str,
    to: str,
    seats: tuple[str, ...],
    panel: str | None,
    models: tuple[str, ...],
    background: str,
    understanding: str,
    kind: str,
    project: str | None,
    language: Language | None,
    session: str | None,
    wait: bool,
    no_check: bool,
    as_json: bool,
) -> None:
    """Put QUESTION to a participant through the director, print the reply, and write docs/consultation/{i}_{from}_{to}.md.

    \b
    moot consult --from modeler --to researcher --seat researcher=openai:gpt-5-mini "Which methods forecast short series?"
    moot consult --from writer --to historian --panel red-team "Is the claim in section 2 sound?"
    """
    table = TerminalSession()

    async def work() -> int:
        async with table.open_moot() as moot:
            chosen = None if panel is None else load_panel(panel, language or detect_language(question))
            plan: Options = {
                "seats": build_seats(asker, to, seats, chosen),
                "panel": chosen,
                "models": list(models),
                "protocol": "consultation",
                "language": language,
                "session": session,
                "settings": {
                    "asker": asker,
                    "to": to,
                    "background": background,
                    "understanding": understanding,
                    "kind": kind,
                },
                "check": not no_check,
                "consult": Consult(folder=project),
            }
            table.session = await moot.open(question, **plan)
            return await table.hold(moot, as_json=as_json, wait=wait)

    exit_with(output.run(work, as_json=as_json, stopped=table.describe_stop))


def build_seats(asker: str, to: str, seats: tuple[str, ...], panel: Panel | None) -> list[Seat]:
    """The seats that were named; who asks needs no mind behind it. Raises BadSetting, BadRoster."""
    if parse_seat_id(asker) == parse_seat_id(to):
        raise BadSetting(f"{asker!r} cannot consult itself; name another seat with --to")
    words = [parse_seat_word(word) for word in seats]
    named = {seat.id for seat in (*words, *(panel.seats if panel is not None else ()))}
    if parse_seat_id(asker) not in named:
        words.append(Seat(id=parse_seat_id(asker), platform=MAILBOX))
    if parse_seat_id(to) not in named:
        words.append(Seat(id=parse_seat_id(to), platform=""))
    return words
