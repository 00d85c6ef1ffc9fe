"""Check that every link and picture of the built docs site leads somewhere in it: python checks/site_links.py [FOLDER]

Addresses of other hosts are not asked; that they are none of ours but in links is checked, since the site is read offline.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "link": "href"}


class PageReader(HTMLParser):
    """Collects the names and the links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.names.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if (
            tag in LOADED
            and LOADED[tag] in given
            and given.get("rel") not in ("canonical", "next", "prev")
        ):
            self.loaded.append(given[LOADED[tag]])


def read_site(folder: Path) -> dict[Path, PageReader]:
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        pages[path.resolve()] = reader = PageReader()
        reader.feed(path.read_text(encoding="utf-8"))
    return pages


def list_faults(folder: Path) -> list[str]:
    """Return a line for each link that leads nowhere, and for each thing that a page loads from another host."""
    pages = read_site(folder)
    faults = []
    for page, reader in pages.items():
        name = page.relative_to(folder.resolve())
        faults += [f"{name}: loads {link}" for link in reader.loaded if urlsplit(link).netloc]
        for link in [*reader.links, *reader.loaded]:
            parts = urlsplit(link)
            # The page of lost addresses is served from anywhere: its links begin at the root.
            if parts.scheme or parts.netloc or page.name == "404.html":
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                faults.append(f"{name}: {link} does not exist")
            elif (
                parts.fragment
                and target in pages
                and unquote(parts.fragment) not in {*pages[target].names, "__top"}
            ):
                faults.append(f"{name}: {link} has no such heading")
    return faults


def main(folder: Path) -> None:
    """Print what is wrong, or how much was checked; ends with 1 where something is wrong."""
    faults = list_faults(folder)
    if faults:
        sys.exit("\n".join(faults))
    pages = read_site(folder)
    print(
        f"{len(pages)} pages, {sum(len(each.links) for each in pages.values())} links: each leads somewhere"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "site"))
