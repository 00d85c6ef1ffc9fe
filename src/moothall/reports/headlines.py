"""What stands below the headline of a decision, without what the headline says already."""

from dataclasses import replace

from moothall.reports import blocks
from moothall.reports.blocks import Block


def drop_repeated_quote(block: Block, answer: str) -> Block:
    """The card of a decision without what the headline says of its text."""
    if not isinstance(block, blocks.Card) or block.kind != "decision":
        return block
    shown = [shorten_quote(each, answer) if isinstance(each, blocks.Quote) else each for each in block.blocks]
    return replace(block, blocks=tuple(each for each in shown if each is not None))


def shorten_quote(quote: blocks.Quote, answer: str) -> blocks.Quote | None:
    rest = quote.text.removeprefix(answer)
    # Only a whole sentence is left out: "No" before "No migration now" would leave the opposite.
    if rest == quote.text or (rest and not answer.endswith(tuple(".!?。！？")) and not rest.startswith("\n")):
        return quote
    return replace(quote, text=f"… {rest.strip()}") if rest.strip() else None
