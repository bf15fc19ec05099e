"""A simulator: one world of a server."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from ._server import ServerProcess
from ._transport import NO_BODY, Transport
from .clock import Clock
from .control import (
    Control,
    CreateWorldAnswer,
    GetReportAnswer,
    ListRequestsAnswerRequestsItem,
    VerifyReceivedBodyExpect,
)
from .errors import SimulatorError
from .explanation import Explanation
from .faults import Faults

__tracebackhide__ = True

DEFAULT_URL = "http://127.0.0.1:4010"
URL_VARIABLE = "MODELHOST_SIM_URL"


class Simulator:
    """One world of a server: an account on a simulated fleet, with its own time, seed and faults.

    Give `url` and `token` to the client under test.

    with Simulator.start(fixtures="two-nodes") as sim:
        client = MyClient(sim.url, sim.token)
        sim.clock.advance("10m")
    """

    def __init__(
        self,
        server_url: str,
        world: CreateWorldAnswer,
        *,
        process: ServerProcess | None = None,
        control_token: str | None = None,
        timeout: float = 60,
    ) -> None:
        token = world["token"]
        if token is None:
            raise SimulatorError("Failed to use the world: its fixture has no token. Give a fixture with one.")
        self.url: str = server_url
        """The address for clients. Their token leads to this world."""
        self.token: str = token
        """The API token of the world."""
        self.name: str = world["world"]
        self._process = process
        self._timeout = timeout
        self._control_token = control_token
        self._service = Transport(server_url, token=token, timeout=timeout, keeps_none=True)
        self.control = Control(Transport(world["base_url"], control_token=control_token, timeout=timeout))
        """Every operation of the control plane, as a method each."""
        self.clock = Clock(self.control)
        self.faults = Faults(self.control)

    @classmethod
    def start(
        cls,
        *,
        command: Sequence[str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        flags: Sequence[str] = (),
        start_timeout: float = 60,
        timeout: float = 60,
        **options: Any,
    ) -> Simulator:
        """Starts a server on a free port, and returns a world on it. The server ends with `close()`.

        command: the command of the simulator. Default: the variable MODELHOST_SIM_COMMAND, or `npx modelhost-sim`.
        flags: further flags of `modelhost-sim serve`.
        start_timeout: real seconds until the server has to listen.
        timeout: real seconds until an answer of the server has to come.
        options: those of `world()`.

        Raises SimulatorError if the server does not start.
        """
        process = ServerProcess(
            ["--clock", "manual", *flags],
            command=command,
            cwd=None if cwd is None else str(Path(cwd)),
            start_timeout=start_timeout,
        )
        try:
            return cls._create(process.url, options, process=process, timeout=timeout)
        except BaseException:
            process.stop()
            raise

    @classmethod
    def connect(
        cls,
        url: str | None = None,
        *,
        control_token: str | None = None,
        timeout: float = 60,
        **options: Any,
    ) -> Simulator:
        """Creates a world on a server that runs, and returns it. `close()` deletes the world.

        url: Default: the variable MODELHOST_SIM_URL, or http://127.0.0.1:4010.
        control_token: required if the server can be reached from other machines.
        options: those of `world()`.

        Raises SimulatorError if no server answers.
        """
        server_url = (url or os.environ.get(URL_VARIABLE) or DEFAULT_URL).rstrip("/")
        return cls._create(server_url, options, control_token=control_token, timeout=timeout)

    @classmethod
    def _create(
        cls,
        server_url: str,
        options: Mapping[str, Any],
        *,
        process: ServerProcess | None = None,
        control_token: str | None = None,
        timeout: float = 60,
    ) -> Simulator:
        control = Control(Transport(server_url, control_token=control_token, timeout=timeout))
        # `with_` and `from_` are names that Python reserves without their end.
        body = {name.removesuffix("_"): value for name, value in options.items()}
        if "from" not in body and "snapshot" not in body:
            body = {"clock": "manual", **body}
        answer: CreateWorldAnswer = control._transport.send_for_json("POST", "/_sim/worlds", body=body)
        return cls(server_url, answer, process=process, control_token=control_token, timeout=timeout)

    def world(self, **options: Any) -> Simulator:
        """Creates another world on the same server. `close()` of it deletes the world.

        Options: fixtures, seed, profile, weather, faults, with_, fill, epoch, clock and the other fields of
        `POST /_sim/worlds`. Default: as the server was started, with a manual clock.
        `with_` and `from_` end with an underscore, because Python reserves the words without it.
        """
        return type(self)._create(self.url, options, control_token=self._control_token, timeout=self._timeout)

    def fork(self) -> Simulator:
        """Creates a world that continues from the present state of this one. The two do not affect each other."""
        return self.world(from_=self.name)

    def call(
        self, method: str, path: str, body: Any = NO_BODY, *, query: Mapping[str, Any] | None = None
    ) -> Any:
        """Sends a request to the service as a client would, and returns the parsed JSON.

        A body or a field that is None is sent as null. Without `body`, the request has no body.
        Raises SimulatorError with the status of a refusal.
        """
        return self._service.send_for_json(method, path, query, body)

    def command(
        self, verb: str, target: str | None = None, *, at: str | None = None, **args: Any
    ) -> None:
        """Executes a command that breaks or repairs something, as in `sim.command("node.crash", "h100-0")`.

        at: a duration from now or a time. Default: now. `sim.control.list_verbs()` lists the commands.
        """
        self.control.give_command(verb=verb, target=target, args=args or None, at=at)

    def report(self, **window: Any) -> GetReportAnswer:
        """Returns what the world did and cost. Default: from its start to now."""
        return self.control.get_report(**window)

    def requests(self, **filters: Any) -> list[ListRequestsAnswerRequestsItem]:
        """Lists the newest 1,000 requests that the world received, oldest first.

        filters: those of `GET /_sim/requests`, as in operation="getDeployment", status=503, subject=deploy_id.
        """
        if "status" in filters:
            filters["status"] = str(filters["status"])
        return self.control.list_requests(**filters)["requests"]

    def verify(self, *expected: VerifyReceivedBodyExpect, in_order: bool = False) -> None:
        """Asserts which requests the world received, as in `sim.verify({"operation": "getDeployment", "atLeast": 2})`.

        expected: which requests (operation, method, path, status, body, token, subject), and how many of them
        (exactly, atLeast, atMost, none). Default: at least 1.
        in_order: whether they were received in the order of `expected`.

        Raises AssertionError that lists the nearest requests with what differs.
        """
        answer = self.control.verify_received({"expect": list(expected), "inOrder": in_order})
        if not answer["ok"]:
            raise AssertionError(answer["message"])

    def explain(self, subject: str | int) -> Explanation:
        """Explains a thing by its id or name, or a request by its `seq`: why it is so, and what happens next.

        Raises SimulatorError for an unknown id, with the nearest known one.
        """
        return Explanation(self.control.explain_subject(str(subject)))

    def reset(self) -> None:
        """Returns to the start of the world."""
        self.control.reset()

    def close(self) -> None:
        """Deletes the world, and ends the server if `start()` started it. A second call does nothing."""
        if self._process is not None:
            self._process.stop()
            self._process = None
        elif self.name:
            try:
                self.control.delete_world(self.name)
            except SimulatorError as error:
                # The server removes a world that is unused for long.
                if error.status != 404:
                    raise
        self.name = ""

    def __enter__(self) -> Simulator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Simulator {self.name or 'closed'} at {self.url}>"
