"""Draw the pictures that come from a program: python checks/pictures.py [--check]

`docs/pictures/terminal.svg` shows what `moot demo debate --fast` prints, line by line, without a script in it; and a flow for
each language says which protocol when. `--check` fails where a picture is not what would be drawn.
"""

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
COMMAND = ("moot", "demo", "debate", "--fast")
COLUMNS, ROWS = 92, 24
LINE, LETTER, EDGE = 19, 8.43, 14
"""Pixels of a line, of a letter (monospaced, 14 pixels), and around the text."""
SECONDS = 40.0
REST = 0.2
"""The share of the time for which the end stays."""
COLOURS = (
    (r"^\$ ", "#7ee787"),
    (r"^  ■", "#d2a8ff"),
    (r"^#\d+ ", "#e6edf3"),
    (r"^  ", "#8b949e"),
    (r"^Decided by ", "#7ee787"),
)
FLOW = {
    "en": (
        ("Is one expert's answer enough?", "moot consult"),
        ("Is it a change to code or a text?", "moot review"),
        ("Is it work in steps, with checks?", "moot pipeline"),
        ("Are the options still unknown?", "moot swarm"),
        ("Does one person own the decision?", "--protocol advisory"),
        ("Must nobody object?", "--protocol consensus"),
        ("Roles in turn, with minutes?", "moot roundtable"),
        ("Options, to be defended later?", "--protocol debate"),
        ("", "moot run (persona)"),
    ),
    "zh": (
        ("一个专家的回答就够？", "moot consult"),
        ("是代码改动或一份文本？", "moot review"),
        ("分步骤的工作，要通过检查？", "moot pipeline"),
        ("还不知道有哪些选择？", "moot swarm"),
        ("由一个人负责决定？", "--protocol advisory"),
        ("必须没有人反对？", "--protocol consensus"),
        ("角色轮流发言，要纪要？", "moot roundtable"),
        ("有选项，以后要为它辩护？", "--protocol debate"),
        ("", "moot run（persona）"),
    ),
}
WORDS = {"en": ("yes", "no"), "zh": ("是", "否")}


def record_terminal() -> list[str]:
    """Return what the command prints, wrapped as a terminal does; the day in the session's id is always the same."""
    with tempfile.TemporaryDirectory() as home:
        environ = {
            **os.environ,
            "MOOT_HOME": home,
            "COLUMNS": str(COLUMNS),
            "NO_COLOR": "1",
            "TZ": "UTC",
        }
        moot = [sys.executable, "-m", "moothall", *COMMAND[1:]]
        printed = subprocess.run(
            moot, env=environ, capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
    printed = re.sub(r"think_\d{8}_\d{3}", "think_20261117_001", printed)
    lines = [f"$ {' '.join(COMMAND)}"]
    for line in printed.splitlines():
        lines += textwrap.wrap(line, COLUMNS, replace_whitespace=False) or [""]
    return lines


def draw_terminal(lines: Sequence[str]) -> str:
    """Return an SVG in which the lines come up one after another and the end stays for a while."""
    width, height = round(COLUMNS * LETTER + 2 * EDGE), ROWS * LINE + 2 * EDGE
    steps = max(len(lines) - ROWS, 1)
    moves = "".join(
        f"{100 * (1 - REST) * at / steps:.2f}%{{transform:translateY({-at * LINE}px)}}"
        for at in range(0, steps + 1)
    )
    texts = "".join(
        f'<text y="{EDGE + LINE * (at + 0.75):.0f}" fill="{choose_colour(line)}">{escape(line)}</text>'
        for at, line in enumerate(lines)
    )
    end = f"transform:translateY({-steps * LINE}px)"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="What {" ".join(COMMAND)} prints">'
        f"<style>text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre}}"
        f"g{{animation:up {SECONDS:.0f}s steps(1,end) infinite}}@keyframes up{{{moves}100%{{{end}}}}}"
        f"@media (prefers-reduced-motion:reduce){{g{{animation:none;{end}}}}}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>'
        f'<svg x="{EDGE}" width="{width - 2 * EDGE}" height="{height}"><g>{texts}</g></svg></svg>\n'
    )


def choose_colour(line: str) -> str:
    return next((colour for pattern, colour in COLOURS if re.search(pattern, line)), "#c9d1d9")


def draw_flow(language: str) -> str:
    """Return a column of questions, each with the protocol that follows from `yes`."""
    yes, no = WORDS[language]
    rows = FLOW[language]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 {len(rows) * 64 - 12}" width="560" role="img">'
        "<style>text{font:14px system-ui,sans-serif;text-anchor:middle}.c{font-family:ui-monospace,Menlo,Consolas,monospace}"
        ".n{font-size:12px}rect{stroke:#5c6bc0;stroke-width:1.5}path{stroke:#5c6bc0;fill:none}</style>"
        + "".join(
            draw_row(at, question, answer, yes, no) for at, (question, answer) in enumerate(rows)
        )
        + "</svg>\n"
    )


def draw_row(at: int, question: str, answer: str, yes: str, no: str) -> str:
    y = 4 + at * 64
    protocol = f'<rect x="{350 if question else 55}" y="{y}" width="200" height="40" rx="6" fill="#e8eaf6"/>'
    protocol += f'<text class="c" x="{450 if question else 155}" y="{y + 25}" fill="#1a237e">{escape(answer)}</text>'
    if not question:
        return protocol
    return (
        f'<rect x="10" y="{y}" width="290" height="40" rx="20" fill="#fff"/>'
        f'<text x="155" y="{y + 25}" fill="#111">{escape(question)}</text>'
        f'<path d="M300 {y + 20}H350M155 {y + 40}V{y + 64}"/><text class="n" x="325" y="{y + 14}" fill="#5c6bc0">{yes}</text>'
        f'<text class="n" x="172" y="{y + 57}" fill="#5c6bc0">{no}</text>{protocol}'
    )


def draw_all() -> Iterator[tuple[Path, str]]:
    yield FOLDER / "terminal.svg", draw_terminal(record_terminal())
    for language, name in (("en", "which-protocol.svg"), ("zh", "which-protocol.zh.svg")):
        yield FOLDER / name, draw_flow(language)


def main(*, is_check: bool) -> None:
    """Write the pictures, or say which of them are old."""
    old = [
        path
        for path, drawn in draw_all()
        if not path.exists() or path.read_text(encoding="utf-8") != drawn
    ]
    if is_check:
        sys.exit(f"run `make pictures`: {', '.join(path.name for path in old)}" if old else 0)
    for path, drawn in draw_all():
        path.write_text(drawn, encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {len(drawn.encode()):,} bytes")


if __name__ == "__main__":
    main(is_check="--check" in sys.argv)
