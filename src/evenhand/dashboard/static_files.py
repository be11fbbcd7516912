"""The style sheet that pages share with the report, and the dashboard's own style and script."""

from __future__ import annotations

from functools import cache
from importlib import resources

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from evenhand.report import frame

KINDS = {"dashboard.css": "text/css", "dashboard.js": "text/javascript"}


@cache
def _content(name: str) -> str:
    return (resources.files("evenhand.dashboard") / "static" / name).read_text(encoding="utf-8")


async def static_file(request: Request) -> Response:
    """One of three files; there are no others."""
    name = request.path_params["name"]
    if name == "style.css":
        return Response(frame.style(), media_type="text/css")
    if name not in KINDS:
        return PlainTextResponse("there is no such file", 404)
    return Response(_content(name), media_type=KINDS[name])


ROUTES = [Route("/static/{name}", static_file)]
