"""Peer: LangGraph with its SQLite checkpointer, one thread per session.

The graph has one node per seat; a node returns a ``Command`` with its message and the node that follows, the next seat
or the end. A session is one invocation of the graph. (Conditional edges, or one node for all seats, came out within
the noise of this in a trial of two runs each.) The state is a list of plain dicts, chosen as less work than message
objects with the ``add_messages`` reducer, which was not measured. The saver's database is in WAL mode, as the saver
itself sets it, with ``synchronous=FULL`` set on top.

A variant is named ``API-DURABILITY-CHANNEL``:

``aio`` or ``blocking``
    ``ainvoke`` over ``AsyncSqliteSaver``, or ``invoke`` over ``SqliteSaver`` (``single`` only: its documentation says
    that it is not meant for more than one thread).
``sync``, ``async`` or ``exit``
    LangGraph's durability modes. Only ``sync`` is durable in this benchmark's sense, since only it waits for the
    checkpoint before the next step; ``async`` writes it while the next step runs, ``exit`` once at the end.
``full``, ``delta`` or ``delta5000``
    How the list of messages is kept. ``full``: a list with a reducer, stored whole in every checkpoint. ``delta``:
    ``DeltaChannel`` (beta), which stores each step's write and a snapshot of the list at every 100th update, its
    default. ``delta5000``: the same with a snapshot at every 5000th update, the furthest apart LangGraph lets them be.
``own`` (optional, ``crowd`` only)
    A database and a saver for each session, in place of the one saver for all that the documentation shows: sessions
    no longer wait for each other's commits.

The functional API (``@task``) is left out, on a reading of the source and not a run: task results are stored in the
background, and ``sync`` waits only for checkpoints, so a finished turn need not be on disk when the next begins.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, cast

import common
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

Durability = Literal["sync", "async", "exit"]


class Message(TypedDict):
    seat: int
    text: str


def extend(messages: list[Message], writes: Sequence[list[Message]]) -> list[Message]:
    """The batch reducer of a ``DeltaChannel``."""
    return messages + [message for write in writes for message in write]


class FullState(TypedDict):
    messages: Annotated[list[Message], operator.add]


class DeltaState(TypedDict):
    messages: Annotated[list[Message], DeltaChannel(extend)]


class SparseDeltaState(TypedDict):
    messages: Annotated[list[Message], DeltaChannel(extend, snapshot_frequency=5000)]


State = FullState | DeltaState | SparseDeltaState
STATES: dict[str, Any] = {"full": FullState, "delta": DeltaState, "delta5000": SparseDeltaState}


@dataclass(frozen=True)
class Variant:
    api: str
    durability: Durability
    channel: str
    own: bool

    @classmethod
    def parse(cls, name: str) -> Variant:
        api, durability, channel, *rest = name.split("-")
        return cls(api, cast("Durability", durability), channel, own=rest == ["own"])


def node_name(seat: int) -> str:
    return f"seat_{seat}"


def reply_of(seat: int, turn: int, window: Sequence[Message]) -> Message:
    return {"seat": seat, "text": common.text_of(seat, turn)}


def speak(seat: int, turns: int, messages: list[Message]) -> Command[str]:
    message = reply_of(seat, len(messages), messages[-common.WINDOW :])
    following = END if len(messages) + 1 >= turns else node_name((seat + 1) % common.SEATS)
    return Command(update={"messages": [message]}, goto=following)


def blocking_node(seat: int, turns: int) -> Any:
    def node(state: State) -> Command[str]:
        return speak(seat, turns, state["messages"])

    return node


def aio_node(seat: int, turns: int, reply_seconds: float) -> Any:
    async def node(state: State) -> Command[str]:
        if reply_seconds:
            await asyncio.sleep(reply_seconds)
        return speak(seat, turns, state["messages"])

    return node


def compile_graph(
    variant: Variant, turns: int, reply_seconds: float, saver: BaseCheckpointSaver[Any]
) -> Any:
    graph = StateGraph(STATES[variant.channel])
    for seat in range(common.SEATS):
        node = (
            aio_node(seat, turns, reply_seconds)
            if variant.api == "aio"
            else blocking_node(seat, turns)
        )
        graph.add_node(
            node_name(seat), node, destinations=(node_name((seat + 1) % common.SEATS), END)
        )
    graph.add_edge(START, node_name(0))
    return graph.compile(checkpointer=saver)


def config_of(session: int, turns: int) -> dict[str, Any]:
    return {"configurable": {"thread_id": str(session)}, "recursion_limit": turns + 1}


@asynccontextmanager
async def aio_saver(path: Path | str) -> AsyncIterator[AsyncSqliteSaver]:
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        await saver.setup()
        await saver.conn.execute("PRAGMA synchronous=FULL")
        yield saver


@contextmanager
def blocking_saver(path: Path | str) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(str(path)) as saver:
        saver.setup()
        saver.conn.execute("PRAGMA synchronous=FULL")
        yield saver


async def measure_aio(
    paths: Sequence[Path | str], variant: Variant, sessions: int, turns: int, reply_seconds: float
) -> common.Meter:
    async with AsyncExitStack() as stack:
        savers = [await stack.enter_async_context(aio_saver(path)) for path in paths]
        graphs = [compile_graph(variant, turns, reply_seconds, saver) for saver in savers]
        work = [
            (graphs[session % len(graphs)], config_of(session, turns))
            for session in range(sessions)
        ]
        with common.Meter() as meter:
            await asyncio.gather(
                *(
                    graph.ainvoke({"messages": []}, config, durability=variant.durability)
                    for graph, config in work
                )
            )
        for graph, config in work:
            check((await graph.aget_state(config)).values, turns)
    return meter


def measure_blocking(path: Path | str, variant: Variant, turns: int) -> common.Meter:
    with blocking_saver(path) as saver:
        graph = compile_graph(variant, turns, 0.0, saver)
        config = config_of(0, turns)
        with common.Meter() as meter:
            graph.invoke({"messages": []}, config, durability=variant.durability)
        check(graph.get_state(config).values, turns)
    return meter


def check(values: dict[str, list[Message]], turns: int) -> None:
    common.check_transcript((message["text"] for message in values["messages"]), turns)


def run(job: common.Job, variant: Variant) -> tuple[common.Meter, int]:
    if variant.api == "aio":
        asyncio.run(measure_aio([":memory:"], variant, 1, common.WARM_UP_TURNS, 0.0))
    else:
        measure_blocking(":memory:", variant, common.WARM_UP_TURNS)
    paths = [common.fresh_database(job, part) for part in range(job.sessions if variant.own else 1)]
    if variant.api == "aio":
        meter = asyncio.run(measure_aio(paths, variant, job.sessions, job.turns, job.reply_seconds))
    else:
        meter = measure_blocking(paths[0], variant, job.turns)
    return meter, sum(common.disk_bytes(path) for path in paths)


def main() -> None:
    job = common.job_from_command_line("langgraph")
    variant = Variant.parse(job.variant)
    meter, disk = run(job, variant)
    common.print_row(job, meter, disk=disk, durable=variant.durability == "sync")


if __name__ == "__main__":
    main()
