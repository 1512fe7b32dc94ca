"""Folders that appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from grpo_agents.atomic import new_folder


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write_half(path: Path) -> None:
    path.write_text("half")
    raise OSError("only half was written")


def test_a_folder_appears_with_its_content_and_its_parents(tmp_path):
    with new_folder(tmp_path / "deep" / "best") as fresh:
        (fresh / "file").write_text("text")
        assert not (tmp_path / "deep" / "best").exists()

    assert names_in(tmp_path / "deep") == ["best"]
    assert (tmp_path / "deep" / "best" / "file").read_text() == "text"


def test_an_error_inside_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="half"), new_folder(tmp_path / "best") as fresh:
        write_half(fresh / "file")

    assert names_in(tmp_path) == []


def test_a_folder_may_be_made_inside_the_making_of_another(tmp_path):
    """A checkpoint saves the policy, which is itself whole or not, and then adds files of its own."""
    with new_folder(tmp_path / "outer") as outer:
        with new_folder(outer) as inner:
            (inner / "weights").write_text("w")
        (outer / "state").write_text("s")

    assert names_in(tmp_path) == ["outer"]
    assert names_in(tmp_path / "outer") == ["state", "weights"]


def test_a_failed_rename_puts_the_old_folder_back(tmp_path, monkeypatch):
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "old").write_text("old")
    rename = Path.rename

    def refuse(path: Path, target: Path) -> Path:
        if path.suffix == ".tmp":
            raise OSError("Device or resource busy")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(OSError, match="busy"), new_folder(tmp_path / "best") as fresh:
        (fresh / "new").write_text("new")

    assert names_in(tmp_path) == ["best"]
    assert names_in(tmp_path / "best") == ["old"]
