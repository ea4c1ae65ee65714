"""The command ``fmident app``."""

from __future__ import annotations

import argparse
import secrets
import socket
import tempfile
import webbrowser
from pathlib import Path

from fmident.errors import Code, FmidentError


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C; open the browser."""
    try:
        from fmident_app import guard, server
    except ImportError as error:
        raise FmidentError(
            f"the app needs a package that is not installed: {error.name}",
            hint="pip install 'fmident[app]'",
            code=Code.UNUSABLE_FILE,
        ) from error
    bench = server.opened([Path(f) for f in arguments.files])
    with socket.socket() as listening:
        try:
            listening.bind(("127.0.0.1", arguments.port))
        except OSError as error:
            raise FmidentError(
                f"port {arguments.port} cannot be used: {error.strerror}",
                hint="without --port a free one is taken",
                code=Code.USAGE,
            ) from error
        listening.listen()  # a browser that is early waits
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        address = f"http://127.0.0.1:{port}/?token={token}"
        print(f"fmident app works on {bench.draft.path}", flush=True)  # noqa: T201
        print(f"  {address}\n  Ctrl-C ends it; runs go on and are found again", flush=True)  # noqa: T201
        # Other users of this machine can read the browser's command line, but not this folder.
        with tempfile.TemporaryDirectory(prefix="fmident-app-") as private:
            if not arguments.no_browser:
                page = Path(private) / "open.html"
                page.write_text(guard.leading_to(address), encoding="utf-8")
                webbrowser.open(page.as_uri())
            server.serve(bench, listening, token)
    return 0
