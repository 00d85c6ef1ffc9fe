"""The page's script is small enough for a slow line."""

import gzip
from importlib.resources import files


def test_the_script_has_at_most_150_kilobytes_gzipped() -> None:
    """W-1: everything that the page runs is in this one file."""
    script = files("moothall.surfaces.http") / "page" / "app.js"
    assert 10_000 < len(gzip.compress(script.read_bytes())) <= 150_000
