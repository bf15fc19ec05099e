"""Runs an unchanged script in the time of a simulated world: `python3 -m modelhost_sim.run client.py`.

`time.sleep` and `asyncio.sleep` move the time of the world in place of waiting, and the clocks of `time` and `datetime`
show it. The variable MODELHOST_SIM_CONTROL of `modelhost-sim explore` and `exec` names the world. Without it, the
script runs as usual.
"""

from __future__ import annotations

import asyncio
import asyncio.selector_events
import ctypes
import datetime
import gc
import importlib.util
import os
import runpy
import selectors
import sys
import time
import types
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from .clock import duration
from .control import Control
from .errors import SimulatorError
from ._transport import Transport

CONTROL_VARIABLE = "MODELHOST_SIM_CONTROL"

_Result = TypeVar("_Result")
_TICK = 1e-6
_LOOP_TICK = 1e-10
_REAL_MONOTONIC = time.monotonic
_REAL_SLEEP = asyncio.sleep
# Real seconds in which an answer that is on its way arrives.
_ANSWER_LIMIT = 2.0
# Real seconds in which the rest of an answer arrives.
_REST_LIMIT = 0.05


class WorldTime:
    """The time of a world as the clocks of this process.

    `time.time` and `datetime` show the time of the world after the last sleep. Between two sleeps they go on by a
    microsecond for each look, so that no duration is 0. `time.monotonic` and `time.perf_counter` go on as usual, and
    jump over each sleep. Timeouts of requests are real while no task of asyncio sleeps.
    """

    def __init__(self, control: Control) -> None:
        self._control = control
        self._now = self._seconds(control.get_clock()["now"])
        self._looks = 0
        self._slept = 0.0
        self.moved = 0.0
        """Seconds of all sleeps."""
        self.sleepers = 0
        """Tasks of asyncio that sleep."""
        self.awaited: set[Any] = set()
        """Sockets that have sent something and got nothing since, and work in other threads."""

    def sleep(self, seconds: float) -> None:
        """Moves the time of the world."""
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        if seconds == 0:
            return
        begin = _REAL_MONOTONIC()
        self._now = self._seconds(self._control.advance_clock(by=duration(seconds))["now"])
        self._looks = 0
        self.moved += seconds
        self._slept += seconds - (_REAL_MONOTONIC() - begin)

    async def sleep_async(self, delay: float, result: _Result | None = None) -> _Result | None:
        """Sleeps in the time of the running loop, which moves when nothing else is left to do."""
        if delay > 0 and not isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop):
            self.sleep(delay)
            return result
        self.sleepers += 1
        try:
            return await _REAL_SLEEP(delay, result)
        finally:
            self.sleepers -= 1

    def install(self) -> None:
        """Replaces the sleeps and the clocks of this process. Modules that have imported their names keep the real ones."""
        setattr(time, "sleep", self.sleep)
        for module in (asyncio, asyncio.tasks):
            setattr(module, "sleep", self.sleep_async)
        setattr(time, "time", self.time)
        self._replace("time_ns", lambda: int(self.time() * 1e9))
        for name in ("monotonic", "perf_counter"):
            self._replace_clock(name)
        for name in ("gmtime", "localtime", "ctime"):
            self._replace_text(name)
        real_strftime, real_asctime = time.strftime, time.asctime
        self._replace("strftime", lambda format, *moment: real_strftime(format, *(moment or (time.localtime(),))))
        self._replace("asctime", lambda *moment: real_asctime(*(moment or (time.localtime(),))))
        _replace_method(datetime.datetime, "now", lambda cls, tz=None: cls.fromtimestamp(self.time(), tz))
        _replace_method(
            datetime.datetime,
            "utcnow",
            lambda cls: cls.fromtimestamp(self.time(), datetime.timezone.utc).replace(tzinfo=None),
        )
        _replace_method(datetime.date, "today", lambda cls: cls.fromtimestamp(self.time()))
        _watch_loops(self)

    def time(self) -> float:
        """The time of the world, as `time.time` shows it."""
        self._looks += 1
        return self._now + self._looks * _TICK

    def _replace_clock(self, name: str) -> None:
        real, real_ns = getattr(time, name), getattr(time, f"{name}_ns")
        self._replace(name, lambda: real() + self._slept)
        self._replace(f"{name}_ns", lambda: real_ns() + int(self._slept * 1e9))

    def _replace_text(self, name: str) -> None:
        real = getattr(time, name)
        self._replace(name, lambda seconds=None: real(self.time() if seconds is None else seconds))

    def _replace(self, name: str, function: Callable[..., Any]) -> None:
        # A function that is the attribute of a class would get its object, as in `Formatter.converter = time.gmtime`.
        setattr(time, name, types.MethodType(lambda _, *words, **names: function(*words, **names), self))

    @staticmethod
    def _seconds(moment: str) -> float:
        return datetime.datetime.fromisoformat(moment).timestamp()


class _LoopTime:
    """The time of an event loop. It moves to the next timer when a task sleeps, and nothing is on its way."""

    def __init__(self, world: WorldTime, loop: Any) -> None:
        self._world = world
        self._begin = world.moved
        self._waited = 0.0
        self._rest = 0.0
        self._selector = loop._selector
        self._real_select = loop._selector.select
        loop.time = self.time
        loop._selector.select = self.select

    def time(self) -> float:
        # Timers of equal length end in the order in which they were set.
        self._waited += _LOOP_TICK
        return self._world.moved - self._begin + self._waited

    def select(self, timeout: float | None = None) -> Any:
        """Waits for sockets. The next timer is due in `timeout` seconds."""
        limit = timeout if timeout is None or timeout <= 0 or not self._world.sleepers else min(timeout, self._limit())
        begin = _REAL_MONOTONIC()
        events = self._real_select(limit)
        for key, *_ in events or ():
            self._world.awaited.discard(getattr(key, "fd", None))
        if events or timeout is None or timeout <= 0:
            # Whole seconds count, so that the speed of the machine changes nothing.
            self._rest += _REAL_MONOTONIC() - begin
            self._waited += self._rest // 1
            self._rest %= 1
        elif limit == timeout or timeout < _TICK:
            self._waited += timeout
        else:
            self._world.awaited.clear()
            self._world.sleep(round(timeout, 6))
        return events

    def _limit(self) -> float:
        """How many real seconds the loop waits for sockets and threads before its time moves."""
        sockets = getattr(self._selector, "get_map", dict)()
        if any(not isinstance(one, int) or one in sockets for one in self._world.awaited):
            return _ANSWER_LIMIT
        if any(key.events & selectors.EVENT_WRITE for key in sockets.values()):
            return _ANSWER_LIMIT
        # The loop itself has one.
        return _REST_LIMIT if len(sockets) > 1 else 0.0


def _watch_loops(world: WorldTime) -> None:
    """Gives each event loop the time of a world, and notes what it waits for."""
    loop_type: Any = asyncio.BaseEventLoop
    real_run, real_execute = loop_type.run_forever, loop_type.run_in_executor

    def run(loop: Any) -> None:
        if not isinstance(getattr(loop.time, "__self__", None), _LoopTime):
            _LoopTime(world, loop)
        real_run(loop)

    def execute(loop: Any, *words: Any) -> Any:
        work = real_execute(loop, *words)
        world.awaited.add(work)
        work.add_done_callback(world.awaited.discard)
        return work

    loop_type.run_forever, loop_type.run_in_executor = run, execute
    transport_type: Any = asyncio.selector_events._SelectorSocketTransport
    for name in ("write", "writelines"):
        _note_writes(transport_type, name, world)


def _note_writes(transport_type: Any, name: str, world: WorldTime) -> None:
    real = getattr(transport_type, name)

    def write(transport: Any, data: Any) -> None:
        world.awaited.add(transport._sock_fd)
        real(transport, data)

    setattr(transport_type, name, write)


def _replace_method(owner: type, name: str, function: Callable[..., Any]) -> None:
    """Replaces a class method of a built-in type. The type stays the same, for `pickle` and `isinstance`."""
    gc.get_referents(owner.__dict__)[0][name] = classmethod(function)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))


def main(words: list[str]) -> None:
    """Runs a script, or a module after `-m`, with its arguments."""
    is_module = words[:1] == ["-m"]
    program = words[1:] if is_module else words
    if not program:
        _fail("run a script: it is missing. Give it, as in: python3 -m modelhost_sim.run client.py")
    if not is_module and not os.path.exists(program[0]):
        _fail(f"run {program[0]!r}: there is no such file. Give the path of a script.")
    control = os.environ.get(CONTROL_VARIABLE)
    if control:
        token = os.environ.get("MODELHOST_SIM_CONTROL_TOKEN")
        try:
            world = WorldTime(Control(Transport(control.removesuffix("/_sim"), control_token=token)))
        except (SimulatorError, ValueError) as error:
            _fail(f"reach the world of {CONTROL_VARIABLE}={control}: {' '.join(str(error).split())}")
        world.install()
    sys.argv = program
    if not is_module:
        sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
        runpy.run_path(program[0], run_name="__main__")
    elif _has_module(program[0]):
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
    else:
        _fail(f"run the module {program[0]!r}: there is no such module. Give its name, as in: -m package.module")


def _has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ModuleNotFoundError, ValueError) as error:
        # An import within a package that exists is an error of the package.
        if isinstance(error, ModuleNotFoundError) and not f"{name}.".startswith(f"{error.name}."):
            raise
        return False


def _fail(what: str) -> NoReturn:
    print(f"Failed to {what}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
