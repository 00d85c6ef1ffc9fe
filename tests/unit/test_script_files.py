"""Scripts as their files change."""

from pathlib import Path

import pytest

from moothall.domain.ids import SeatId
from moothall.errors import BadScript
from moothall.participants.script import ScriptParticipant


def test_a_script_that_was_mended_is_read_anew(tmp_path: Path) -> None:
    """A server keeps running while somebody mends the script that it refused."""
    script = tmp_path / "ada.toml"
    script.write_text("[[propose]]\ntext = 5\n[propose")
    with pytest.raises(BadScript, match="is not valid TOML"):
        ScriptParticipant(script, SeatId("ada"))
    script.write_text("propose = 5")
    with pytest.raises(BadScript, match=r"must be written as \[\[propose\]\] tables"):
        ScriptParticipant(script, SeatId("ada"))
    script.write_text('[[propose]]\ntype = "pass"')
    ScriptParticipant(script, SeatId("ada"))
