"""Runs an unchanged script in the time of a simulated world: `python3 -m modelhost_sim.run client.py`.

`time.sleep` and `asyncio.sleep` move the time of the world in place of waiting, and the clocks of `time` and `datetime`
show it. The variable MODELHOST_SIM_CONTROL of `modelhost-sim explore` and `exec` names the world. Without it, the
script runs as usual.
"""

from __future__ import annotations

import asyncio
import datetime
import os
import runpy
import sys
import time
from typing import Any, TypeVar

from .clock import duration
from .control import Control
from ._transport import Transport

CONTROL_VARIABLE = "MODELHOST_SIM_CONTROL"

_Result = TypeVar("_Result")
_TICK = 1e-6
_REAL_MONOTONIC = time.monotonic
_REAL_SLEEP = asyncio.sleep
_REAL_DATETIME = datetime.datetime


class WorldTime:
    """The time of a world as the clocks of this process.

    `time.time` and `datetime` show the time of the world after the last sleep. Between two sleeps they go on by a
    microsecond for each look, so that no duration is 0. `time.monotonic` and `time.perf_counter` go on as usual, and
    jump over each sleep: timeouts of requests are real.
    """

    def __init__(self, control: Control) -> None:
        self._control = control
        self._now = self._seconds(control.get_clock()["now"])
        self._looks = 0
        self._slept = 0.0
        self._wakes: list[float] = []

    def sleep(self, seconds: float) -> None:
        """Moves the time of the world."""
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        if seconds == 0:
            return
        begin = _REAL_MONOTONIC()
        self._now = self._seconds(self._control.advance_clock(by=duration(seconds))["now"])
        self._looks = 0
        self._slept += seconds - (_REAL_MONOTONIC() - begin)

    async def sleep_async(self, delay: float, result: _Result | None = None) -> _Result | None:
        """Moves the time of the world when no other task sleeps for less long."""
        if delay <= 0:
            return await _REAL_SLEEP(0, result)
        wake = self._now + delay
        self._wakes.append(wake)
        try:
            # The other tasks go on until they sleep, too.
            await _REAL_SLEEP(0)
            while min(self._wakes) < wake > self._now:
                await _REAL_SLEEP(0)
            if wake - self._now > _TICK:
                self.sleep(wake - self._now)
                # Timeouts that are due now come first.
                await _REAL_SLEEP(0)
                await _REAL_SLEEP(0)
        finally:
            self._wakes.remove(wake)
        return result

    def install(self) -> None:
        """Replaces the sleeps and the clocks of this process. Modules that have imported their names keep the real ones."""
        setattr(time, "sleep", self.sleep)
        for module in (asyncio, asyncio.tasks):
            setattr(module, "sleep", self.sleep_async)
        setattr(time, "time", self.time)
        setattr(time, "time_ns", lambda: int(self.time() * 1e9))
        for name in ("monotonic", "perf_counter"):
            self._replace_clock(name)
        setattr(datetime, "datetime", _WorldDatetime)

    def time(self) -> float:
        """The time of the world, as `time.time` shows it."""
        self._looks += 1
        return self._now + self._looks * _TICK

    def _replace_clock(self, name: str) -> None:
        real, real_ns = getattr(time, name), getattr(time, f"{name}_ns")
        setattr(time, name, lambda: real() + self._slept)
        setattr(time, f"{name}_ns", lambda: real_ns() + int(self._slept * 1e9))

    @staticmethod
    def _seconds(moment: str) -> float:
        return _REAL_DATETIME.fromisoformat(moment).timestamp()


class _AnyDatetime(type):
    """The type of `_WorldDatetime`: the datetimes that other modules made are instances, too."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _REAL_DATETIME)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _REAL_DATETIME)


class _WorldDatetime(_REAL_DATETIME, metaclass=_AnyDatetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return _REAL_DATETIME.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls) -> Any:
        return _REAL_DATETIME.fromtimestamp(time.time(), datetime.timezone.utc).replace(tzinfo=None)

    @classmethod
    def today(cls) -> Any:
        return cls.now()


def main(words: list[str]) -> None:
    """Runs a script, or a module after `-m`, with its arguments."""
    is_module = words[:1] == ["-m"]
    program = words[1:] if is_module else words
    if not program:
        sys.exit("Failed to run a script: it is missing. Give it, as in: python3 -m modelhost_sim.run client.py")
    control = os.environ.get(CONTROL_VARIABLE)
    if control:
        token = os.environ.get("MODELHOST_SIM_CONTROL_TOKEN")
        WorldTime(Control(Transport(control.removesuffix("/_sim"), control_token=token))).install()
    sys.argv = program
    if is_module:
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
        runpy.run_path(program[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
