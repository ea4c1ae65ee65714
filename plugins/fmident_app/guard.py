"""Who may use the app: requests with its token, to this machine's own address, from its own pages.

A browser sends its cookies with requests that other pages make, and a name in the DNS can be moved
to 127.0.0.1 (DNS rebinding): hence the checks of ``Origin`` and ``Host`` beside that of the token.
"""

from __future__ import annotations

import hmac
import html
from urllib.parse import parse_qs, quote, urlsplit

from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

REFUSED = "Open the address that 'fmident app' printed: it ends with a token.\n"


LARGEST_FILE = 500_000_000
"""Bytes of a file that is dropped on the page."""

_FORM = 100_000
"""Bytes that a form adds to its file."""


def leading_to(address: str) -> str:
    """Return a page that opens an address at once."""
    target = html.escape(address)
    return f'<!doctype html><meta http-equiv="refresh" content="0; url={target}">'


def _unframed(send: Send) -> Send:
    """Return a function that sends the same, with the header that forbids frames of other pages."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            policy = (b"content-security-policy", b"frame-ancestors 'self'")
            message = {**message, "headers": [*message.get("headers", ()), policy]}
        await send(message)

    return sending


class Guard:
    """An ASGI application around another one.

    Parameters
    ----------
    application
        What is guarded.
    token
        In the query of the first request; a cookie afterwards.
    port
        Of the server, on 127.0.0.1.
    """

    def __init__(self, application: ASGIApp, token: str, port: int) -> None:
        self._application = application
        self._token = token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"fmident-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with 403."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        headers = {name.decode("latin-1"): v.decode("latin-1") for name, v in scope["headers"]}
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if not self._is_local(headers):
            await self._refuse(scope, receive, send)
        elif scope["type"] == "http" and self._is_token("".join(query.get("token", ()))):
            # No redirect: where another page led here, a browser would not send the cookie with it.
            answer = HTMLResponse(leading_to(quote(scope["path"])))
            answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            await answer(scope, receive, send)
        elif not self._is_token(self._token_of(headers.get("cookie", ""))):
            await self._refuse(scope, receive, send)
        elif int(headers.get("content-length") or 0) > LARGEST_FILE + _FORM:
            text = f"A file may have {LARGEST_FILE / 1e6:.0f} MB at most.\n"
            await PlainTextResponse(text, status_code=413)(scope, receive, send)
        else:
            await self._application(scope, receive, _unframed(send))

    def _is_local(self, headers: dict[str, str]) -> bool:
        origin = headers.get("origin")
        return headers.get("host") in self._hosts and (
            origin is None or urlsplit(origin).netloc in self._hosts
        )

    def _token_of(self, cookie: str) -> str:
        return cookie_parser(cookie).get(self._cookie, "")

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await PlainTextResponse(REFUSED, status_code=403)(scope, receive, send)
