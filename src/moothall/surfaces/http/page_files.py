"""The page's files, as they lie in the package: `index.html` for every path of the app, the rest under `/page/`."""

import mimetypes
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

INDEX: Final = "index.html"
APP_PATHS: Final = (
    "/",
    "/s/{session}",
    "/new",
    "/decisions",
    "/decisions/{decision}",
    "/obligations",
    "/trust",
    "/trust/{source:path}",
    "/breakers",
    "/seat/{session}/{seat}",
    "/login",
)
"""The URLs that are states of the app: the server answers all of them with the same file."""

_ROOTS: Final = frozenset(path.split("/")[1] for path in APP_PATHS)


@dataclass(frozen=True, slots=True)
class PageFile:
    body: bytes
    kind: str
    tag: str


def load_page_files() -> dict[str, PageFile]:
    """All files of the page by their names, read once: no name from outside ever becomes a path."""
    found = {}
    for each in (files("moothall.surfaces.http") / "page").iterdir():
        if each.is_file():
            body = each.read_bytes()
            kind = mimetypes.guess_type(each.name)[0] or "application/octet-stream"
            found[each.name] = PageFile(body, kind, f'"{sha256(body).hexdigest()[:32]}"')
    return found


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

    async def get_index(self, request: Request) -> Response:
        return self._answer(request, INDEX)

    async def get_file(self, request: Request) -> Response:
        return self._answer(request, request.path_params["name"])

    def _answer(self, request: Request, name: str) -> Response:
        file = self._files.get(name)
        if file is None:
            return PlainTextResponse("there is no such file\n", 404)
        # A URL with a hash in it names one version for ever; any other is asked for again, and answered by its tag.
        keep = "public, max-age=31536000, immutable" if request.url.query else "no-cache"
        headers = {"ETag": file.tag, "Cache-Control": keep}
        if file.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(file.body, headers=headers, media_type=file.kind)
