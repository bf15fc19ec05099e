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

DATES = """
import copy
import datetime
import logging
import pickle
import time

moment, built = datetime.datetime.now(), datetime.datetime(2026, 1, 1)
print(pickle.loads(pickle.dumps(moment)) == moment, copy.deepcopy(built) == built)

class Stamp(datetime.datetime):
    pass

print([isinstance(one, Stamp) for one in (moment, built, Stamp.now())], type(moment) is type(built) is datetime.datetime)
logging.Formatter.converter = time.gmtime
time.sleep(86400)
print(datetime.date.today().month, time.strftime("%m"), time.gmtime().tm_mon, time.localtime().tm_mon, time.ctime()[4:7])
print(time.gmtime(0).tm_year, time.strftime("%Y", time.gmtime(0)), time.asctime()[4:7])
print(logging.Formatter("%(asctime)s").format(logging.makeLogRecord({"created": 0.0}))[:10])
"""

TIMEOUTS = """
import asyncio
import threading
import time

async def polls(step):
    while True:
        await asyncio.sleep(step)

async def answer(reader, writer):
    await reader.read(1)
    writer.write(await asyncio.to_thread(late))
    writer.close()

def late():
    threading.Event().wait(0.3)
    return b"answer"

async def ask(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"?")
    return await reader.read(6)

async def main():
    begin = time.time()
    for step in (5, 100):
        try:
            await asyncio.wait_for(polls(step), 12)
        except TimeoutError:
            print("late", round(time.time() - begin))
        try:
            async with asyncio.timeout(10):
                await polls(step)
        except TimeoutError:
            print("late", round(time.time() - begin))
    task = asyncio.create_task(asyncio.sleep(100))
    done, waits = await asyncio.wait([task], timeout=10)
    print(len(done), len(waits), round(time.time() - begin))
    await task
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    task = asyncio.create_task(asyncio.sleep(600))
    print(await asyncio.wait_for(ask(port), 5), await asyncio.wait_for(asyncio.to_thread(late), 5))
    print(round(time.time() - begin))
    await task
    print(round(time.time() - begin))

asyncio.run(main())
"""


def run(words: list[str], folder: Path, control: str | None = None) -> str:
    begin = time.monotonic()
    done = start(words, folder, control)
    assert time.monotonic() - begin < 30
    return done.stdout + done.stderr


def start(words: list[str], folder: Path, control: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(modelhost_sim.__file__).parent.parent)}
    if control is not None:
        environment["MODELHOST_SIM_CONTROL"] = control
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "modelhost_sim.run", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("script", "printed", "passed"),
    [
        (SLEEPS, "30 ['--fast'] None __main__\n", 1800),
        (TASKS, "bbacb ['a', 'b', 'c', 'late'] 165\n", 1650),
        (CLOCKS, "2026-01-01T01 2026-01-01T01 True\n3600 3600 3600\nTrue\n", 3600),
        (
            DATES,
            "True True\n[False, False, True] True\n1 01 1 1 Jan\n1970 1970 Jan\n1970-01-01\n",
            86400,
        ),
        (
            TIMEOUTS,
            "late 12\nlate 22\nlate 34\nlate 44\n0 1 54\nb'answer' b'answer'\n144\n744\n",
            744,
        ),
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


@pytest.mark.parametrize(
    ("words", "control", "message"),
    [
        ([], None, "run a script: it is missing."),
        (["nope.py"], None, "run 'nope.py': there is no such file."),
        (["-m", "nope_mod"], None, "run the module 'nope_mod': there is no such module."),
        (["-m", "nope_mod.sub"], None, "run the module 'nope_mod.sub': there is no such module."),
        (["client.py"], "http://127.0.0.1:9/_sim", "reach the world of MODELHOST_SIM_CONTROL=http://127.0.0.1:9/_sim: "),
        (["client.py"], "nowhere", "reach the world of MODELHOST_SIM_CONTROL=nowhere: "),
    ],
)
def test_what_cannot_run_is_named_in_a_line(
    tmp_path: Path, words: list[str], control: str | None, message: str
) -> None:
    (tmp_path / "client.py").write_text("print('it ran')")
    done = start(words, tmp_path, control)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"Failed to {message}")


def test_an_import_that_fails_in_a_module_shows_where(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("import nope_mod")
    done = start(["-m", "package.client"], tmp_path)
    assert done.returncode == 1 and 'line 1, in <module>' in done.stderr
