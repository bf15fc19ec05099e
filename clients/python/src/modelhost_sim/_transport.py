"""HTTP to one world, with the standard library alone."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from http.client import HTTPException, HTTPResponse
from typing import Any, Final, NamedTuple

from .errors import SimulatorError

__tracebackhide__ = True

# The control plane is never asked through a proxy of the environment: the server is local.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Missing:
    """The type of `NO_BODY`."""

    def __repr__(self) -> str:
        return "NO_BODY"


NO_BODY: Final = Missing()
"""A request without a body. A body that is None is the JSON null."""


class ServerEvent(NamedTuple):
    """An event of a stream. `data` is the parsed JSON."""

    event: str
    id: str | None
    data: Any


class Transport:
    """Sends requests to the address of one world.

    `url` is the address of the world, without a slash at its end. `timeout` is in real seconds. With `keeps_none`, a
    field of a body that is None is sent as null. Otherwise it counts as not given.
    """

    def __init__(
        self,
        url: str,
        *,
        control_token: str | None = None,
        timeout: float = 60,
        token: str | None = None,
        keeps_none: bool = False,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"Failed to connect to {url!r}: no address. Give one as in 'http://127.0.0.1:4010'.")
        self.url = url
        self.timeout = timeout
        self.control_token = control_token
        self.token = token
        self.keeps_none = keeps_none

    @staticmethod
    def quote(part: str) -> str:
        """Encodes a part of a path.

        Raises ValueError for a part that would give the address of another operation, such as an empty id.
        """
        if part is None or str(part) in ("", ".", ".."):
            raise ValueError(f"Failed to send a request: {part!r} is neither an id nor a name. Give one.")
        return urllib.parse.quote(str(part), safe="")

    def send_for_json(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = NO_BODY,
        file: bytes | None = None,
    ) -> Any:
        """Sends a request, and returns the parsed JSON of its answer."""
        text = self.send_for_text(method, path, query, body, file)
        try:
            return json.loads(text) if text else None
        except ValueError as error:
            raise SimulatorError(
                f"Failed to read the answer to {method} {path}: it is not JSON. "
                f"Check that {self.url} is a server of modelhost-sim."
            ) from error

    def send_for_text(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = NO_BODY,
        file: bytes | None = None,
    ) -> str:
        """Sends a request, and returns its answer as text."""
        return self.send_for_bytes(method, path, query, body, file).decode()

    def send_for_bytes(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = NO_BODY,
        file: bytes | None = None,
    ) -> bytes:
        """Sends a request, and returns its answer as bytes."""
        with self._open(method, path, query, body, file) as response:
            try:
                return response.read()
            except (OSError, HTTPException) as error:
                raise self._broken(method, path, error) from error

    def send_for_events(
        self, method: str, path: str, query: Mapping[str, Any] | None = None
    ) -> Iterator[ServerEvent]:
        """Sends a request, and returns the server-sent events of its answer as they come."""
        response = self._open(method, path, query, NO_BODY, None)
        with response:
            name, event_id = "message", None
            lines: list[str] = []
            for raw in response:
                line = raw.decode().rstrip("\r\n")
                if line == "":
                    if lines:
                        yield ServerEvent(name, event_id, json.loads("\n".join(lines)))
                    name, lines = "message", []
                    continue
                field, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if field == "event":
                    name = value
                elif field == "id":
                    event_id = value
                elif field == "data":
                    lines.append(value)

    def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: Any,
        file: bytes | None,
    ) -> HTTPResponse:
        if not path.startswith("/"):
            raise ValueError(
                f"Failed to send {method} {path!r}: the path begins without a slash. Give one as in '/deploy/list'."
            )
        headers = {}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.control_token is not None:
            headers["X-Sim-Control-Token"] = self.control_token
        data = None
        if file is not None:
            data, headers["Content-Type"] = _form(file)
        elif body is not NO_BODY:
            data = json.dumps(body if self.keeps_none else _given(body)).encode()
            headers["Content-Type"] = "application/json"
        url = self.url + path
        if query and (given := _given(query)):
            url += "?" + urllib.parse.urlencode(
                {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()},
                doseq=True,
            )
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        try:
            return _OPENER.open(request, timeout=self.timeout)  # type: ignore[no-any-return]
        except urllib.error.HTTPError as error:
            with error:
                raise SimulatorError(_message(error), error.code) from None
        except (OSError, HTTPException) as error:
            raise self._broken(method, path, error) from error

    def _broken(self, method: str, path: str, error: Exception) -> SimulatorError:
        reason = getattr(error, "reason", error)
        return SimulatorError(
            f"Failed to send {method} {path} to {self.url}: {reason}. "
            "Start a server with Simulator.start(), or give the address of one that runs."
        )


def _given(values: Any) -> Any:
    """Leaves out the fields of an object that are None: these were not given."""
    if not isinstance(values, Mapping):
        return values
    return {name: value for name, value in values.items() if value is not None}


def _message(error: urllib.error.HTTPError) -> str:
    """Returns the words of a refusal, or its whole body."""
    text = error.read().decode(errors="replace")
    try:
        body = json.loads(text)
        if "error" in body:
            return str(body["error"])
        detail = body["detail"]
        if not isinstance(detail, list):
            return str(detail)
        return "; ".join(f"{'.'.join(map(str, issue['loc']))}: {issue['msg']}" for issue in detail)
    except (ValueError, KeyError, TypeError):
        return f"{error.code}: {text}"


def _form(file: bytes) -> tuple[bytes, str]:
    boundary = uuid.uuid4().hex
    head = (
        f"--{boundary}\r\n"
        'Content-Disposition: form-data; name="file"; filename="file"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    return head.encode() + file + f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"
