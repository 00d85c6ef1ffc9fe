"""Moot's own catalogues, by the names of their files: `council_report.toml` is `COUNCIL_REPORT`, of `CouncilReportText`.

`checks/catalogues.py` writes their types to `catalogues.pyi` (`make catalogues`) and compares the languages.
"""

from moothall.locale.texts import DEFAULT_LANGUAGE, FOLDER, Catalogue, Texts


def __getattr__(name: str) -> object:
    """Make a catalogue, or the class of its texts, the first time that it is named."""
    file = name.lower() if name.isupper() else ""
    if name.endswith("Text"):
        made: object = Texts
    elif file and (FOLDER / DEFAULT_LANGUAGE / f"{file}.toml").exists():
        made = Catalogue(file, Texts)
    else:
        raise AttributeError(f"there is no catalogue {name}")
    globals()[name] = made
    return made
