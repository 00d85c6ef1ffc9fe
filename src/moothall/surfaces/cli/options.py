"""Options that several commands share: `--swap` and `--wait`."""

from collections.abc import Sequence
from typing import Final

import click

from moothall.errors import BadRoster
from moothall.surfaces.cli.duration import Duration

WAIT: Final = "--wait"
WAIT_UNSAID: Final = "7d"

swap_option = click.option(
    "--swap", "swaps", multiple=True, metavar="SEAT=PLATFORM", help="Give a seat to another participant; repeatable."
)
wait_option = click.option(
    WAIT,
    type=Duration(),
    metavar="[DURATION]",
    help=f"Wait here for mailbox seats and for the end of an outage; without a duration up to {WAIT_UNSAID}.",
)


class WaitCommand(click.Command):
    """A command with `--wait` or `--wait 2h`. Only a duration counts as its value: `--wait TOPIC` keeps the topic."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = args[: args.index("--")] if "--" in args else args
        found = [
            f"{WAIT}={WAIT_UNSAID}" if word == WAIT and not _is_duration(args[at + 1 : at + 2]) else word
            for at, word in enumerate(words)
        ]
        return super().parse_args(ctx, [*found, *args[len(words) :]])


def parse_swaps(words: Sequence[str]) -> dict[str, str]:
    """`SEAT=PLATFORM` words as a mapping; raises BadRoster."""
    pairs = [word.partition("=") for word in words]
    if any(not seat or not platform for seat, _, platform in pairs):
        raise BadRoster("--swap: expected SEAT=PLATFORM, such as ada=openai:gpt-5-mini")
    return {seat: platform for seat, _, platform in pairs}


def _is_duration(words: Sequence[str]) -> bool:
    try:
        return bool(words) and Duration().convert(words[0], None, None) > 0
    except click.BadParameter:
        return False
