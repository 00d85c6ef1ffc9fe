"""Write the types of the catalogues to `catalogues.pyi`; with --check, verify that they are what the catalogues give.

It also counts how much of English each language has, and writes that into its `language.toml`: one of which little is there is not
offered (`list_offered_languages`).

Both ways the languages are compared with English: no text that English lacks, the same shape, the same placeholders. A complete
language lacks nothing. There is no text that no code names.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from moothall.locale.texts import DEFAULT_LANGUAGE, EXTENDS, FOLDER, list_languages

ROOT = Path(__file__).parents[1]
STUB = FOLDER / "catalogues.pyi"
FEATURES = sorted((ROOT / "src/moothall/features").glob("*/locale"))
"""The folders of catalogues that features bring; their types stand in `words.py` beside them."""
COMPLETE: Final = ("en", "zh")
"""Languages in which every text is there (M-11)."""
PAGE: Final = "page"
"""The catalogue that the page's script reads, and Python does not."""
SHARE: Final = "translated"
"""The key of `language.toml` that says how much of English a language has."""
_PLACEHOLDER: Final = re.compile(r"(?<!\{)\{([a-z_]\w*)(?:[:!][^{}]*)?\}")
_HEAD: Final = '''"""The types of the catalogues, written by `make catalogues`: change a catalogue, then run it."""

from collections.abc import Mapping

from moothall.locale.texts import Catalogue, Texts
'''


def main() -> int:
    is_check = "--check" in sys.argv[1:]
    english = read_language(DEFAULT_LANGUAGE)
    stub = build_stub(english)
    faults = [fault for language in list_languages() for fault in compare(language, english)]
    faults += list_unused(english)
    if not is_check:
        STUB.write_text(stub, encoding="utf-8")
        for language in list_languages():
            write_share(language, count_share(language, english))
    faults += list_wrong_shares(english)
    is_stale = not STUB.exists() or STUB.read_text(encoding="utf-8") != stub
    print(
        f"{'NO' if is_stale else 'ok'}  catalogues.pyi is what the catalogues give{'; run `make catalogues`' if is_stale else ''}"
    )
    count = sum(len(list(flatten(texts))) for texts in english.values())
    print(f"{'NO' if faults else 'ok'}  {count} texts in {', '.join(list_languages())}")
    for fault in faults:
        print(f"    {fault}")
    return 1 if is_stale or faults else 0


def read_language(language: str) -> dict[str, dict[str, object]]:
    files = sorted(
        path for folder in (FOLDER, *FEATURES) for path in (folder / language).glob("*.toml")
    )
    return {file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in files}


def flatten(texts: dict[str, object], path: str = "") -> Iterator[tuple[str, str | int]]:
    """Every text by its path; for an array also how many it has, because code takes them apart."""
    for key, value in texts.items():
        name = f"{path}.{key}" if path else key
        match value:
            case dict():
                yield from flatten(value, name)
            case list():
                yield name, len(value)
                yield from ((f"{name}[{at}]", str(each)) for at, each in enumerate(value))
            case _:
                yield name, str(value)


def compare(language: str, english: dict[str, dict[str, object]]) -> Iterator[str]:
    """What is wrong with a language: compared by catalogue and text."""
    catalogues = read_language(language)
    yield from (
        f"{language}/{name}.toml: there is no {DEFAULT_LANGUAGE}/{name}.toml"
        for name in catalogues.keys() - english.keys()
    )
    for name, texts in english.items():
        wanted, given = dict(flatten(texts)), dict(flatten(catalogues.get(name, {})))
        for each in (wanted, given):
            each.pop(EXTENDS, None)
        where = f"{language}/{name}.toml"
        if language in COMPLETE:
            yield from (f"{where}: {key} is missing" for key in wanted.keys() - given.keys())
        yield from (
            f"{where}: {key} is not in {DEFAULT_LANGUAGE}/{name}.toml"
            for key in sorted(given.keys() - wanted.keys())
        )
        for key in sorted(given.keys() & wanted.keys()):
            text, original = given[key], wanted[key]
            if isinstance(text, int) or isinstance(original, int):
                if text != original:
                    yield f"{where}: {key} has {text} texts, not {original}"
            elif find_placeholders(text) != find_placeholders(original):
                yield f"{where}: {key} has the placeholders {find_placeholders(text)}, not {find_placeholders(original)}"


def count_share(language: str, english: dict[str, dict[str, object]]) -> int:
    """How many of a hundred English texts a language has, rounded down."""
    wanted, given = list_paths(english), list_paths(read_language(language))
    return 100 * len(wanted & given) // len(wanted)


def list_paths(catalogues: dict[str, dict[str, object]]) -> set[tuple[str, str]]:
    """Every text by its catalogue and its path, but for the count itself."""
    return {
        (name, path)
        for name, texts in catalogues.items()
        for path, _ in flatten(texts)
        if path not in {EXTENDS, SHARE}
    }


def write_share(language: str, share: int) -> None:
    path = FOLDER / language / "language.toml"
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith(f"{SHARE} =")]
    path.write_text("\n".join([*kept, f'{SHARE} = "{share}"']) + "\n", encoding="utf-8")


def list_wrong_shares(english: dict[str, dict[str, object]]) -> Iterator[str]:
    for language in list_languages():
        share = str(count_share(language, english))
        written = read_language(language).get("language", {}).get(SHARE)
        if written != share:
            yield f"{language}/language.toml: {SHARE} is {written!r}, not {share!r}; run `make catalogues`"


def find_placeholders(text: str) -> list[str]:
    return sorted(set(_PLACEHOLDER.findall(text)))


def list_unused(english: dict[str, dict[str, object]]) -> Iterator[str]:
    """Texts that no code names as an attribute, or in quotes for `getattr`."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"\.([a-z_]\w*)", code)) | set(re.findall(r'"([a-z_]\w*)"', code))
    sources = [path for path in (ROOT / "web/src").rglob("*.ts*") if path.name != "words.ts"]
    script = set(
        re.findall(
            r'"([a-z_]\w*)"', "\n".join(path.read_text(encoding="utf-8") for path in sources)
        )
    )
    for name, texts in english.items():
        known = script | {"counts"} if name == PAGE else named | {EXTENDS}
        yield from (f"{name}.toml: no code names {key}" for key in texts if key not in known)


def build_stub(english: dict[str, dict[str, object]]) -> str:
    """A class for each catalogue, its bases first, and the catalogue."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        base = english[name].get(EXTENDS)
        if isinstance(base, str):
            add(base)
        rows = [
            f"    {key}: {build_type(value)}\n"
            for key, value in english[name].items()
            if key != EXTENDS
        ]
        parent = name_class(base) if isinstance(base, str) else "Texts"
        done[name] = (
            f"\nclass {name_class(name)}({parent}):\n{''.join(rows)}\n{name.upper()}: Catalogue[{name_class(name)}]\n"
        )

    of_features = {
        path.stem for folder in FEATURES for path in (folder / DEFAULT_LANGUAGE).glob("*.toml")
    }
    for name in english:
        if name != PAGE and name not in of_features:
            add(name)
    return _HEAD + "".join(done.values())


def name_class(catalogue: str) -> str:
    return "".join(part.capitalize() for part in catalogue.split("_")) + "Text"


def build_type(value: object) -> str:
    match value:
        case dict():
            inner = {build_type(each) for each in value.values()}
            return f"Mapping[str, {' | '.join(sorted(inner)) or 'str'}]"
        case list():
            return "tuple[str, ...]"
        case _:
            return "str"


if __name__ == "__main__":
    sys.exit(main())
