"""The pages of the docs site that are not files of `docs`: the README as its front page, the list of decisions, the reference."""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / ".cache" / "reference"
"""Where `checks.site_reference` writes, which needs Moot itself: the site's generator has an environment without it."""


def build_front(readme: str) -> str:
    """Return the README with links into `docs/` made relative to it, and those to other files of the tree as plain words."""
    text = readme.replace("](docs/", "](").replace("](decisions/)", "](decisions/index.md)")
    return re.sub(r"\[([^\]]+)\]\(((?!https?:)[A-Z][A-Z_]*\.md)\)", r"\1", text)


def build_decisions(folder: Path) -> str:
    """Return a page that lists the decisions by their titles."""
    heads = [
        (path.name, path.read_text(encoding="utf-8").partition("\n")[0])
        for path in sorted(folder.glob("0*.md"))
    ]
    titles = [(name, head.lstrip("# ")) for name, head in heads]
    return "# Why it is built this way\n\n" + "".join(
        f"- [{title}]({name})\n" for name, title in titles
    )


def on_files(files: Any, config: Any) -> Any:
    """Add them. MkDocs calls this with the files of the folder."""
    # Imported here: the site's generator is in an environment of its own.
    from mkdocs.structure.files import File  # type: ignore[import-not-found]

    files.append(
        File.generated(
            config,
            "index.md",
            content=build_front((ROOT / "README.md").read_text(encoding="utf-8")),
        )
    )
    files.append(
        File.generated(
            config, "decisions/index.md", content=build_decisions(ROOT / "docs" / "decisions")
        )
    )
    for path in sorted(REFERENCE.glob("*.md")):
        files.append(
            File.generated(
                config, f"reference/{path.name}", content=path.read_text(encoding="utf-8")
            )
        )
    return files
