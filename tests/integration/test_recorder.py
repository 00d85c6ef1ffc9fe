"""The clerk of the house on a real disk: numbers, files and what lies in the way (C-8)."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from moothall.domain.consult import RecordFileRequest
from moothall.domain.ids import SeatId
from moothall.participants.record_writer import HEAD, MANIFEST, write_record


def build_request(
    folder: Path, key: str, asker: str = "ada", asked: str = "bob"
) -> RecordFileRequest:
    return RecordFileRequest(
        folder=str(folder),
        key=key,
        asker=SeatId(asker),
        asked=SeatId(asked),
        document=lambda number: f"# {number}\n{key}\n",
    )


def place(folder: Path) -> Path:
    return folder / "docs" / "consultation"


def test_a_key_has_one_number_however_often_it_is_asked_for(tmp_path: Path) -> None:
    first, second, again = (
        write_record(build_request(tmp_path, key)) for key in ("a/1", "a/2", "a/1")
    )
    assert (first, second.number) == (again, 2)
    assert sorted(path.name for path in place(tmp_path).iterdir()) == [
        "1_ada_bob.md",
        "2_ada_bob.md",
    ]
    assert (place(tmp_path) / "1_ada_bob.md").read_text() == "# 1\na/1\n"


def test_many_at_once_get_numbers_without_gap_or_repeat(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        lines = list(
            pool.map(lambda number: write_record(build_request(tmp_path, f"s/{number}")), range(40))
        )
    assert sorted(line.number for line in lines) == list(range(1, 41))
    assert len(list(place(tmp_path).iterdir())) == 40


def test_a_number_that_somebody_died_over_is_given_to_the_next(tmp_path: Path) -> None:
    write_record(build_request(tmp_path, "a/1"))
    manifest = tmp_path / MANIFEST
    manifest.write_text(manifest.read_text() + "2\twriting\tb/1\t2_cy_bob.md\n")
    (place(tmp_path) / ".2_cy_bob.md.new").write_text("half")
    assert write_record(build_request(tmp_path, "c/1")).number == 2
    assert write_record(build_request(tmp_path, "b/1", "cy")).number == 3
    assert "writing" not in manifest.read_text()


def test_a_record_that_lies_there_counts_though_its_writer_died_before_it_said_so(
    tmp_path: Path,
) -> None:
    write_record(build_request(tmp_path, "a/1"))
    manifest = tmp_path / MANIFEST
    manifest.write_text(manifest.read_text().replace("written", "writing"))
    assert write_record(build_request(tmp_path, "a/1")).number == 1
    assert write_record(build_request(tmp_path, "a/2")).number == 2


def test_files_that_nobody_counted_are_not_written_over(tmp_path: Path) -> None:
    place(tmp_path).mkdir(parents=True)
    (place(tmp_path) / "4_x_y.md").write_text("by hand")
    assert write_record(build_request(tmp_path, "a/1")).number == 5
    (place(tmp_path) / "6_ada_bob.md").write_text("by hand")
    assert write_record(build_request(tmp_path, "a/2")).number == 7
    assert (place(tmp_path) / "6_ada_bob.md").read_text() == "by hand"


def test_a_record_that_was_deleted_does_not_free_its_number(tmp_path: Path) -> None:
    write_record(build_request(tmp_path, "a/1"))
    (place(tmp_path) / "1_ada_bob.md").unlink()
    assert write_record(build_request(tmp_path, "a/2")).number == 2


def test_a_manifest_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text('{"version": 3}')
    with pytest.raises(ValueError, match="not a manifest of Moot's"):
        write_record(build_request(tmp_path, "a/1"))
    (tmp_path / MANIFEST).write_text(f"{HEAD}\n1\twritten\ta/1\t../x.md\n")
    with pytest.raises(ValueError, match="line 2"):
        write_record(build_request(tmp_path, "a/2"))


@pytest.mark.parametrize("link", ["docs", "docs/consultation", MANIFEST, f".{MANIFEST}.lock"])
def test_links_are_not_followed(tmp_path: Path, link: str) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    (project / link).parent.mkdir(parents=True)
    elsewhere.mkdir()
    target = elsewhere if link.startswith("docs") else elsewhere / "file"
    if target != elsewhere:
        target.write_text("untouched")
    (project / link).symlink_to(target)
    with pytest.raises(OSError, match=r".+"):
        write_record(build_request(project, "a/1"))
    assert [path.read_text() for path in elsewhere.iterdir()] == (
        ["untouched"] if target != elsewhere else []
    )


def test_long_names_fit_into_a_file_name(tmp_path: Path) -> None:
    line = write_record(build_request(tmp_path, "a/1", "名" * 64, "字" * 64))
    assert len(os.fsencode(line.name)) < 255
    assert (place(tmp_path) / line.name).is_file()
