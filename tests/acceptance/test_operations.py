"""What a supervisor and a monitor see of servers and workers: liveness, readiness, metrics."""

import asyncio
import re
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
from bench.scale.cut_line import CutLine
from tests.acceptance.doors import Cli, Running
from tests.acceptance.server import DEADLINE, SEATS, Answer, Client, Server

from moothall_testkit.ledger_scenes import run_with_deadline

READY, PROMPT = (200, {"status": "ok"}), 10.0


def read_metrics(client: Client) -> dict[str, float]:
    answer = client.get("/metrics")
    assert answer.status == 200
    lines = answer.body.decode().splitlines()
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in lines
        if line.startswith("moot_")
    }


def await_answer(client: Client, path: str, status: int) -> Answer:
    """Ask until that is the answer; no answer may take long."""
    end = time.monotonic() + DEADLINE
    while True:
        began = time.monotonic()
        answer = client.get(path)
        assert time.monotonic() - began < PROMPT
        if answer.status == status:
            return answer
        assert time.monotonic() < end, answer
        time.sleep(0.1)


def start_worker(cli: Cli) -> tuple[Running, Client]:
    worker = cli.start("worker", "--port", "0", "--lease", "5")
    worker.wait_for("Ctrl-C")
    found = re.search(rb"http://([0-9.:]+)", worker._seen)
    assert found
    return worker, Client(found[1].decode(), cli.key)


def test_servers_and_workers_live_through_an_outage_and_say_that_they_are_not_ready(
    postgres_address: str, tmp_path: Path
) -> None:
    """N-7: a cut line, and tables that are gone; without a token, within seconds, and without a word of where the database is."""
    place = parse_qs(urlsplit(postgres_address).query)["host"][0]

    def check(cli: Cli, line: CutLine, loop: asyncio.AbstractEventLoop) -> None:
        with Server(cli, "--workers") as server:
            worker, door = start_worker(cli)
            nobody = [server.nobody, Client(door.address)]
            with worker:
                for client in nobody:
                    for path in ("/livez", "/readyz", "/healthz"):
                        answer = client.get(path)
                        assert (answer.status, answer.json()) == READY
                    assert client.get("/metrics").status == 401
                    assert "is ready" in cli("ready", f"http://{client.address}").out
                assert read_metrics(door)["moot_workers"] == 1
                loop.call_soon_threadsafe(line.cut)
                for client in nobody:
                    told = await_answer(client, "/readyz", 503)
                    assert told.headers["retry-after"] == "2"
                    assert set(told.json()) == {"status", "reason"}
                    assert told.json()["reason"].startswith(("the ledger", "the worker"))
                    assert client.get("/livez").status == 200
                refused = cli("ready", f"http://{server.address}", code=1).err
                assert re.search(
                    r"is not ready: the ledger (does not answer|cannot be read)", refused
                )
                loop.call_soon_threadsafe(line.mend)
                for client in nobody:
                    assert await_answer(client, "/readyz", 200).json() == READY[1]
                    assert (
                        "is ready" in cli("ready", "--wait", "30s", f"http://{client.address}").out
                    )
                asyncio.run(drop_tables(postgres_address))
                for client in nobody:
                    told = await_answer(client, "/readyz", 503)
                    assert told.json()["reason"].startswith(
                        ("the tables of the workers", "the worker has lost")
                    )
            assert "Traceback" not in server.logged()

    async def work() -> None:
        async with CutLine(f"{place}/.s.PGSQL.5432") as line:
            address = (
                f"postgresql://postgres@127.0.0.1:{line.port}{urlsplit(postgres_address).path}"
            )
            cli = Cli(tmp_path / "home", tmp_path, MOOT_LEDGER=address)
            await asyncio.to_thread(check, cli, line, asyncio.get_running_loop())

    run_with_deadline(work(), 2 * DEADLINE)


async def drop_tables(address: str) -> None:
    connection = await asyncpg.connect(address)
    try:
        await connection.execute("DROP TABLE moot_runs CASCADE")
    finally:
        await connection.close()


def test_metrics_count_sessions_asks_appends_and_refusals(tmp_path: Path) -> None:
    """N-7: of a server that runs its sessions itself."""
    with Server(Cli(tmp_path / "home", tmp_path)) as server:
        client = server.local
        before = read_metrics(client)
        assert before['moot_asks_outstanding{at="outside"}'] == 0
        session = client.opened()
        assert server.nobody.get("/me").status == 401
        assert server.client("moot_x_y").get("/me").status == 401
        end = time.monotonic() + DEADLINE
        while (found := read_metrics(client))['moot_sessions{state="waiting"}'] != 1:
            assert time.monotonic() < end
        assert found['moot_asks_outstanding{at="outside"}'] == len(SEATS)
        assert found['moot_asks_outstanding{at="participants"}'] == 0
        assert found["moot_appends_total"] - before["moot_appends_total"] == 2
        assert found['moot_refused_total{status="401"}'] == 2
        assert found["moot_ledger_reachable"] == 1
        client("moot.cancelSession", sessionId=session)
        while (found := read_metrics(client))['moot_sessions{state="waiting"}'] or not found[
            "moot_sessions_ended_total"
        ]:
            assert time.monotonic() < end
        assert found['moot_asks_outstanding{at="outside"}'] == 0
        assert found["moot_sessions_ended_total"] == 1


def test_what_is_no_address_or_no_server_is_one_sentence(tmp_path: Path) -> None:
    """N-7: for scripts, by the exit code."""
    cli = Cli(tmp_path / "home", tmp_path)
    assert "is not the address of a server" in cli("ready", "file:///etc/passwd", code=2).err
    assert "nothing answers there" in cli("ready", "http://127.0.0.1:9", code=1).err
    assert cli.json("ready", "http://127.0.0.1:9", code=1)["error"]["kind"] == "LedgerUnavailable"
