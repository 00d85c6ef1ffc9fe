"""Notes that Moot adds to the prompt in `turn.json`: what agents that know only files must hear. Pure: state in, text out."""

from collections.abc import Sequence
from typing import Final

from moothall.locale.catalogues import ROUNDTABLE_PROMPT
from moothall.protocols.roundtable.sections import name_minutes_sections
from moothall.protocols.roundtable.state import Conference, NumberedInput

NOTE: Final = "[Moot]"
"""Each note begins with this word; what a speaker wrote ends before the first one."""

MAX_NAMED: Final = 5
"""So many files are named one by one; of more only the first and the last."""


def list_notes(conference: Conference) -> tuple[str, ...]:
    """Return the notes for whoever has the turn: declared consensus, inputs of the user's, minutes that came back."""
    words = ROUNDTABLE_PROMPT[conference.opened.language]
    if conference.status == "closed":
        return ()
    notes = []
    if conference.status == "open" and conference.agreeing:
        notes.append(build_consensus_note(conference))
    if inputs := conference.find_new_inputs(conference.current):
        notes.append(words.input_note.format(files=_name_files(inputs)))
    if conference.status == "concluding" and conference.returned is not None:
        notes.append(words.returned_note.format(sections=name_minutes_sections(conference.missing, conference.opened.language)))
    return tuple(notes)


def build_consensus_note(conference: Conference) -> str:
    """Say who has declared consensus and what that does."""
    named = [role for role in conference.speakers if role in conference.agreeing]
    rest = [role for role in conference.speakers if role not in conference.agreeing]
    words = ROUNDTABLE_PROMPT[conference.opened.language].consensus_note
    return words.format(named=_join(named), count=len(named), all=len(conference.speakers), rest=_join(rest))


def _join(names: Sequence[str]) -> str:
    # The longest names of a full table would fill the prompt: it has room for a few of them.
    return ", ".join(names[:MAX_NAMED]) + (f" (+{len(names) - MAX_NAMED})" if len(names) > MAX_NAMED else "")


def _name_files(inputs: tuple[NumberedInput, ...]) -> str:
    names = [f"INPUT_{given.number:03d}.md" for given in inputs]
    return ", ".join(names) if len(names) <= MAX_NAMED else f"{names[0]} … {names[-1]}"


def remove_notes(prompt: str) -> str:
    """Return what a speaker wrote: the prompt without notes, which an agent may have copied or made up."""
    return prompt.partition(NOTE)[0].strip()


def extract_notes(prompt: str) -> tuple[str, ...]:
    """Return the notes in a prompt."""
    return tuple(note.strip() for note in prompt.split(NOTE)[1:])


def add_notes(prompt: str, notes: tuple[str, ...], longest: int) -> str:
    """Return a prompt with its notes, within so many characters: the notes are never cut."""
    told = "".join(f"\n{NOTE} {note}" for note in notes)
    return f"{remove_notes(prompt)[: longest - len(told)]}{told}"
