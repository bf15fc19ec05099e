"""The pytest plugin: `sim` is a world for each test."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from .control import ListRequestsAnswerRequestsItem
from .errors import SimulatorError
from .simulator import URL_VARIABLE, Simulator

_SHOWN_REQUESTS = 20


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("modelhost-sim")
    group.addoption(
        "--sim-url",
        metavar="URL",
        help=f"server to use; default: the variable {URL_VARIABLE}, or a server that the tests start",
    )
    group.addoption("--sim-seed", metavar="SEED", help="seed of all worlds whose test sets none; default: 1")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "sim(**options): options of the world of the test, as in sim(fixtures='two-nodes', seed=7)",
    )


@pytest.fixture(scope="session")
def sim_server(pytestconfig: pytest.Config) -> Iterator[Simulator]:
    """A server for all tests, on which each test gets its own world."""
    url = pytestconfig.getoption("sim_url") or os.environ.get(URL_VARIABLE)
    with Simulator.connect(url) if url else Simulator.start() as server:
        yield server


@pytest.fixture
def sim(request: pytest.FixtureRequest, sim_server: Simulator) -> Iterator[Simulator]:
    """A world of this test's own. The marker `sim` sets its options."""
    marker = request.node.get_closest_marker("sim")
    options: dict[str, Any] = dict(marker.kwargs) if marker else {}
    if marker and marker.args:
        raise pytest.UsageError("Failed to read the marker sim: it takes named options, as in sim(seed=7).")
    seed = request.config.getoption("sim_seed")
    if seed is not None:
        options.setdefault("seed", seed)
    with sim_server.world(**options) as world:
        request.node.stash[_WORLD] = world
        yield world


_WORLD = pytest.StashKey[Simulator]()


# `wrapper=True` needs pluggy 1.2, which is newer than the one of Debian 12.
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Adds to the report of a failed test what its client did."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    world = item.stash.get(_WORLD, None)
    if report.when == "call" and report.failed and world is not None:
        try:
            report.sections.append(("modelhost-sim", _describe(world)))
        except SimulatorError as error:
            report.sections.append(("modelhost-sim", str(error)))


def _describe(world: Simulator) -> str:
    """Returns the state of a world, and the last requests of its client."""
    view = world.control.get_world(world.name)
    requests = world.requests()
    shown = requests[-_SHOWN_REQUESTS:]
    lines = [
        f"The world of this test at {view['now']}, fixture {view['fixtures']}, seed {view['seed']}.",
        f"Its client sent {_count(len(requests), 'request')}{_ending(len(requests))}",
        *(f"  {entry['sentAt']} {entry['method']} {entry['path']} → {_outcome(entry)}" for entry in shown),
        *(f"It waits: {waiting['request']} since {waiting['since']}" for waiting in view["waiting"]),
    ]
    return "\n".join(lines)


def _ending(number: int) -> str:
    if number == 0:
        return "."
    return f". The last {_SHOWN_REQUESTS}:" if number > _SHOWN_REQUESTS else ":"


def _outcome(request: ListRequestsAnswerRequestsItem) -> str:
    status = str(request["status"]) if request["status"] else "no answer"
    decided_by = request["decidedBy"]
    return status if decided_by == "none" else f"{status} ({decided_by}: {request.get('reason', '')})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
