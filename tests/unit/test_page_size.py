"""The page's script is small enough for a slow line."""

import gzip
from importlib.resources import files


def test_the_script_has_at_most_150_kilobytes_gzipped() -> None:
    """W-1: everything that the page runs is in these two files; the small one keeps keys until the other one runs."""
    page = files("moothall.surfaces.http") / "page"
    early, script = (
        len(gzip.compress((page / name).read_bytes())) for name in ("early.js", "app.js")
    )
    assert early < 1_000
    assert 10_000 < early + script <= 150_000
