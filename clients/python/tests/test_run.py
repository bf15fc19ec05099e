"""Unchanged scripts in the time of a world."""

import os
import subprocess
import sys
import time
from pathlib import Path

import modelhost_sim
import pytest

from modelhost_sim import Simulator

SLEEPS = """
import sys
import time
from time import sleep

limit = time.monotonic() + 1800
polls = 0
while time.monotonic() < limit:
    polls += 1
    sleep(60)
print(polls, sys.argv[1:], time.sleep(0), __name__)
"""

TASKS = """
import asyncio
import time

order = []

async def naps(name, seconds, times):
    for _ in range(times):
        await asyncio.sleep(seconds)
        order.append(name)
    return name

async def main():
    begin = time.monotonic()
    names = await asyncio.gather(naps("a", 600, 1), naps("b", 250, 3), naps("c", 600, 1))
    try:
        async with asyncio.timeout(900):
            while True:
                await asyncio.sleep(400)
    except TimeoutError:
        names.append("late")
    print("".join(order), names, round((time.monotonic() - begin) / 10))

asyncio.run(main())
"""

CLOCKS = """
import datetime
import time
from datetime import datetime as Moment, timezone

before = time.time(), time.time_ns(), time.perf_counter()
time.sleep(3600)
print(Moment.now(timezone.utc).isoformat()[:13], Moment.utcnow().isoformat()[:13], isinstance(Moment.now(), Moment))
print(round(time.time() - before[0]), round((time.time_ns() - before[1]) / 1e9), round(time.perf_counter() - before[2]))
print(datetime.datetime.fromisoformat("2026-01-01T00:00:00+00:00") < Moment.now(timezone.utc))
"""


def run(words: list[str], folder: Path, control: str | None = None) -> str:
    environment = {**os.environ, "PYTHONPATH": str(Path(modelhost_sim.__file__).parent.parent)}
    if control is not None:
        environment["MODELHOST_SIM_CONTROL"] = control
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "modelhost_sim.run", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert time.monotonic() - begin < 30
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("script", "printed", "passed"),
    [
        (SLEEPS, "30 ['--fast'] None __main__\n", 1800),
        (TASKS, "bbacb ['a', 'b', 'c', 'late'] 195\n", 1950),
        (CLOCKS, "2026-01-01T01 2026-01-01T01 True\n3600 3600 3600\nTrue\n", 3600),
    ],
)
def test_sleeps_move_the_time_of_the_world(
    sim: Simulator, tmp_path: Path, script: str, printed: str, passed: int
) -> None:
    (tmp_path / "client.py").write_text(script)
    control = f"{sim.url}/_sim/worlds/{sim.name}/_sim"
    assert run(["client.py", "--fast"], tmp_path, control) == printed
    assert passed <= sim.clock.elapsed < passed + 60
    assert run(["-m", "client", "--fast"], tmp_path, control) == printed.replace("2026-01-01T01", "2026-01-01T02")


def test_without_a_world_a_script_runs_as_usual(tmp_path: Path) -> None:
    script = "import sys, time; time.sleep(0.01); print(sys.path[0], time.sleep)"
    (tmp_path / "client.py").write_text(script)
    assert run(["client.py"], tmp_path) == f"{tmp_path} <built-in function sleep>\n"


def test_a_script_is_needed(tmp_path: Path) -> None:
    assert run([], tmp_path).startswith("Failed to run a script: it is missing.")
