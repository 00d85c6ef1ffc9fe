"""The page's files, as they lie in the package: `index.html` for every path of the app, the rest under `/page/`."""

import gzip
import mimetypes
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

INDEX: Final = "index.html"
HASH: Final = 32
"""How many digits of a hash name a version of a file."""
APP_PATHS: Final = (
    *("/", "/new", "/decisions", "/obligations", "/trust", "/breakers", "/settings", "/login"),
    *(
        "/s/{session}",
        "/seat/{session}/{seat}",
        "/compare/{left}/{right}",
        "/decisions/{decision}",
        "/trust/{source:path}",
    ),
)
"""The URLs that are states of the app: the server answers all of them with the same file."""

_ROOTS: Final = frozenset(path.split("/")[1] for path in APP_PATHS)


@dataclass(frozen=True, slots=True)
class PageFile:
    body: bytes
    kind: str
    tag: str
    zipped: bytes
    """The body, gzipped once for all who load it."""


def load_page_files() -> dict[str, PageFile]:
    """All files of the page by their names, read once: no name from outside ever becomes a path."""
    loaded = {}
    for each in (files("moothall.surfaces.http") / "page").iterdir():
        if each.is_file():
            body = each.read_bytes()
            kind = mimetypes.guess_type(each.name)[0] or "application/octet-stream"
            tag = f'"{sha256(body).hexdigest()[:HASH]}"'
            loaded[each.name] = PageFile(body, kind, tag, gzip.compress(body, mtime=0))
    # The addresses of the other files hold their hashes: what the browser has is the version that this page names.
    page = loaded[INDEX].body.decode()
    for name, file in loaded.items():
        page = page.replace(f'"/page/{name}"', f'"/page/{name}?{file.tag[1:-1]}"')
    body = page.encode()
    loaded[INDEX] = PageFile(
        body,
        loaded[INDEX].kind,
        f'"{sha256(body).hexdigest()[:HASH]}"',
        gzip.compress(body, mtime=0),
    )
    return loaded


def is_page_path(path: str) -> bool:
    """Whether a path is one of the app or of its files: everybody may load these, they hold nothing of any session."""
    return path.startswith("/page/") or path.split("/")[1] in _ROOTS


class PageFiles:
    """Answers requests for the page's files."""

    def __init__(self) -> None:
        self._files = load_page_files()

    def build_routes(self) -> list[Route]:
        return [
            *(Route(path, self.get_index, methods=["GET"]) for path in APP_PATHS),
            Route("/page/{name}", self.get_file, methods=["GET"]),
        ]

    def build_index(self, request: Request, status: int = 200) -> Response:
        response = self._answer(request, INDEX)
        if response.status_code == 200:
            response.status_code = status
        return response

    async def get_index(self, request: Request, missing: Exception | None = None) -> Response:
        if request.method not in {"GET", "HEAD"}:
            return PlainTextResponse(
                "there is nothing to call here; calls go to /rpc, /openrpc.json describes them\n",
                404,
            )
        return self.build_index(request, 200 if missing is None else 404)

    async def get_file(self, request: Request) -> Response:
        return self._answer(request, request.path_params["name"])

    def _answer(self, request: Request, name: str) -> Response:
        file = self._files.get(name)
        if file is None:
            return PlainTextResponse("there is no such file\n", 404)
        # An address with the hash of its file names one version for ever; any other is asked for again, and answered by its tag.
        is_hashed = name != INDEX and request.url.query == file.tag[1:-1]
        keep = "public, max-age=31536000, immutable" if is_hashed else "no-cache"
        headers = {"ETag": file.tag, "Cache-Control": keep, "Vary": "Accept-Encoding"}
        if file.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if not accepts_gzip(request):
            return Response(file.body, headers=headers, media_type=file.kind)
        return Response(
            file.zipped, headers={**headers, "Content-Encoding": "gzip"}, media_type=file.kind
        )


def accepts_gzip(request: Request) -> bool:
    """Whether an answer may be gzipped."""
    offered = (
        each.replace(" ", "").lower()
        for each in request.headers.get("accept-encoding", "").split(",")
    )
    return any(
        each == "gzip" or (each.startswith("gzip;q=") and each != "gzip;q=0") for each in offered
    )
