"""The process of a server."""

from __future__ import annotations

import atexit
import os
import re
import shlex
import subprocess
import threading
from collections.abc import Mapping, Sequence

from .errors import SimulatorError

COMMAND_VARIABLE = "MODELHOST_SIM_COMMAND"
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


class ServerProcess:
    """A server in a process of its own, on a free port of this machine. It ends with this process."""

    def __init__(
        self,
        flags: Sequence[str],
        *,
        command: Sequence[str] | None,
        cwd: str | None,
        start_timeout: float,
    ) -> None:
        argv = [*(command or default_command()), "serve", "--port", "0", "--log", "none", *flags]
        try:
            self._process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                # A group of its own: npx starts further processes.
                start_new_session=True,
            )
        except OSError as error:
            raise SimulatorError(
                f"Failed to start '{argv[0]}': {error.strerror}. Install Node and the server as the README of this "
                f"package says, or give the command in {COMMAND_VARIABLE}."
            ) from error
        atexit.register(self.stop)
        self.url = self._wait_for_address(shlex.join(argv), start_timeout)

    def stop(self) -> None:
        """Ends the process. A second call does nothing."""
        atexit.unregister(self.stop)
        if self._process.poll() is None:
            _signal_group(self._process, 15)
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                _signal_group(self._process, 9)
                self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _wait_for_address(self, command: str, start_timeout: float) -> str:
        printed: list[str] = []
        found = threading.Event()
        address: list[str] = []

        def read() -> None:
            assert self._process.stdout is not None
            try:
                # Reads to the end, so that the server never waits for a full pipe.
                for line in self._process.stdout:
                    if not address:
                        printed.append(line)
                        if match := _ADDRESS.search(line):
                            address.append(match.group())
                            found.set()
            except ValueError:
                pass  # The pipe was closed by stop().
            found.set()

        threading.Thread(target=read, daemon=True).start()
        in_time = found.wait(start_timeout)
        if address:
            return address[0]
        self.stop()
        reason = "it ended" if in_time else f"no address after {start_timeout:g} seconds"
        text = "".join(printed).strip() or "nothing"
        raise SimulatorError(f"Failed to start a server with `{command}`: {reason}. It printed: {text}")


def default_command() -> list[str]:
    """Returns the command of the simulator: that of the environment, or npx."""
    given = os.environ.get(COMMAND_VARIABLE)
    return shlex.split(given) if given else ["npx", "modelhost-sim"]


def _environment() -> Mapping[str, str]:
    """Returns the environment without variables that would change the server."""
    ours = (COMMAND_VARIABLE, "PORT")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in ours and not name.startswith("MODELHOST_SIM_")
    }


def _signal_group(process: subprocess.Popen[str], signal: int) -> None:
    try:
        os.killpg(process.pid, signal)
    except ProcessLookupError:
        pass
