"""What a PDF of 300 pages costs a meeting: `python -m bench.evidence.long_pdf [PAGES]`.

It writes the PDF, holds a debate of two models on a stub server in this process, who read and search it, and prints how long the
opening and the first request took, how long the longest prompt is, and the most memory that the process had.
"""

import asyncio
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from moothall.app.moot import Moot
from moothall_testkit.schema_values import draw_value
from moothall_testkit.stub_server import Request, Step, StubReply, StubServer

PAGES = 300
LINES = 45
WORDS = (
    "tenant",
    "lease",
    "notice",
    "ninety",
    "days",
    "roof",
    "mended",
    "month",
    "fault",
    "yard",
    "gate",
    "wall",
)


def write_pdf(path: Path, pages: int) -> None:
    """Write a PDF of so many full pages; one line of page 200 is what is asked for."""
    random, writer = Random(7), PdfWriter()
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    names = DictionaryObject({NameObject(key): NameObject(value) for key, value in font.items()})
    fonts = DictionaryObject({NameObject("/Font"): DictionaryObject({NameObject("/F1"): names})})
    for number in range(1, pages + 1):
        lines = [" ".join(random.choices(WORDS, k=14)) for _ in range(LINES)]
        if number == min(200, pages):
            lines[20] = "The harbour crane is insured for 71,400 euros."
        page, stream = writer.add_blank_page(612, 792), DecodedStreamObject()
        stream.set_data(
            b"BT /F1 10 Tf 40 770 Td 16 TL "
            + b" ".join(f"({line}) '".encode() for line in lines)
            + b" ET"
        )
        page[NameObject("/Resources")] = fonts
        page[NameObject("/Contents")] = writer._add_object(stream)
    writer.write(path)


def act(request: Request) -> Step:
    """Search, read around what came back, then answer."""
    calls = [
        ("search", '{"words": "harbour crane insured"}'),
        ("read", '{"file": "long.pdf", "first": 9000}'),
    ]
    done = sum(message["role"] == "assistant" for message in request.body["messages"])
    if request.body.get("tools") and done < len(calls):
        return StubReply(calls=(calls[done],))
    form = request.body.get("response_format")
    return StubReply(
        text=json.dumps(draw_value(form["json_schema"]["schema"], Random(7)))
        if form
        else "71,400 euros."
    )


async def main(pages: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.pdf"
        write_pdf(path, pages)
        async with StubServer([act]) as stub, Moot(environ={"MOOT_HOME": folder}) as moot:
            seats = {name: f"{stub.base_url}#{name}" for name in ("ada", "bob")}
            begun, worked = time.monotonic(), time.process_time()
            session = await moot.open(
                "For how much is the harbour crane insured?",
                protocol="debate",
                seats=seats,
                files=[path],
            )
            opened, worked = time.monotonic(), time.process_time() - worked
            await moot.run(session)
            facts = [entry.fact for entry in await moot.engine.entries(session)]
            text = facts[0].subject.context[0].text  # type: ignore[attr-defined]  # an opening
            await moot.export(session, "html")
        first, longest = stub.asked[0], max(len(request.text) for request in stub.asked)
        took = f"{opened - begun:.1f} s ({worked:.1f} s of work)"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{pages} pages, {len(text):,} characters; opened in {took}; {memory:.0f} MB at most")
        print(
            f"first prompt {len(first.text):,} characters, longest {longest:,}, {len(stub.asked)} requests"
        )
        print(f"the line is in the first prompt: {'71,400' in first.text}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else PAGES))
