"""Who may use the app."""

from __future__ import annotations

from typing import Any

import pytest

from fmident_app.guard import Guard

PORT, TOKEN = 4321, "secret"
HOST = f"127.0.0.1:{PORT}"


async def inner(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"the page"})


def answer(
    query: str = "", kind: str = "http", **headers: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the first message of an answer, and its headers."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    scope: dict[str, Any] = {
        "type": kind,
        "method": "GET",
        "path": "/",
        "query_string": query.encode(),
        "headers": [(k.encode(), v.encode()) for k, v in {"host": HOST, **headers}.items()],
    }
    coroutine = Guard(inner, TOKEN, PORT)(scope, receive, send)
    with pytest.raises(StopIteration):
        coroutine.send(None)
    given = {k.decode(): v.decode() for k, v in sent[0].get("headers", [])}
    return sent[0], given


def test_the_token_becomes_a_cookie_that_scripts_cannot_read() -> None:
    first, headers = answer(f"token={TOKEN}")
    assert first["status"] == 200
    assert "HttpOnly" in headers["set-cookie"]
    assert "samesite=strict" in headers["set-cookie"].lower()


def test_with_the_cookie_the_page_is_served() -> None:
    assert answer(cookie=f"other=1; fmident-{PORT}={TOKEN}")[0]["status"] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"cookie": f"fmident-{PORT}=guess"},
        {"cookie": f"fmident-{PORT}={TOKEN}", "host": f"evil.example:{PORT}"},
        {"cookie": f"fmident-{PORT}={TOKEN}", "origin": "https://evil.example"},
        {"cookie": f"fmident-{PORT}={TOKEN}", "origin": f"http://127.0.0.1:{PORT + 1}"},
    ],
)
def test_others_are_refused(headers: dict[str, str]) -> None:
    assert answer(**headers)[0]["status"] == 403


def test_a_wrong_token_is_refused() -> None:
    assert answer("token=guess")[0]["status"] == 403


def test_other_cookies_do_not_hide_the_token() -> None:
    cookie = f'a/b=1; x={{"a": 1}}; fmident-{PORT}={TOKEN}'
    assert answer(cookie=cookie)[0]["status"] == 200


def test_other_pages_may_not_frame_it() -> None:
    _, headers = answer(cookie=f"fmident-{PORT}={TOKEN}")
    assert headers["content-security-policy"] == "frame-ancestors 'self'"


def test_too_large_a_file_is_refused_before_it_is_read() -> None:
    cookie = f"fmident-{PORT}={TOKEN}"
    first, _ = answer(cookie=cookie, **{"content-length": str(600_000_000)})
    assert first["status"] == 413


def test_a_websocket_needs_the_cookie_and_this_origin() -> None:
    refused, _ = answer(kind="websocket", origin=f"http://{HOST}")
    assert refused == {"type": "websocket.close", "code": 1008}
    cookie = f"fmident-{PORT}={TOKEN}"
    first, _ = answer(kind="websocket", cookie=cookie, origin="http://evil.example")
    assert first["type"] == "websocket.close"
    first, _ = answer(kind="websocket", cookie=cookie, origin=f"http://{HOST}")
    assert first["type"] == "http.response.start"  # it reached the application
