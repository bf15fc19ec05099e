"""Stories of a project whose tests use the fixture `sim`."""

import pytest

from modelhost_sim import Simulator

SUITE = """
    import pytest
    from modelhost_sim import SimulatorError

    def test_passes(sim):
        sim.call("GET", "/deploy/list?status=running")

    @pytest.mark.sim(fixtures="two-nodes", seed=7)
    def test_fails(sim):
        sim.clock.advance("10m")
        with pytest.raises(SimulatorError):
            sim.call("GET", "/deploy/missing")
        assert False
"""


def run(pytester: pytest.Pytester, sim_server: Simulator, *flags: str) -> pytest.RunResult:
    """Runs a suite on the server that runs already."""
    return pytester.runpytest("-p", "modelhost_sim.pytest_plugin", "--sim-url", sim_server.url, *flags)


def test_a_failed_test_shows_its_world_and_what_its_client_did(
    pytester: pytest.Pytester, sim_server: Simulator
) -> None:
    pytester.makepyfile(SUITE)
    result = run(pytester, sim_server)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- modelhost-sim -*",
            "The world of this test at 2026-01-01T00:10:00.000000+00:00, fixture two-nodes, seed 7.",
            "Its client sent 1 request:",
            "  2026-01-01T00:10:00.000000+00:00 GET /deploy/missing → 404 (state: no deployment missing)",
        ]
    )
    result.stdout.no_fnmatch_line("*status=running*")


def test_an_error_shows_the_line_of_the_test_and_no_frame_of_the_package(
    pytester: pytest.Pytester, sim_server: Simulator
) -> None:
    pytester.makepyfile("def test_that_asks_for_nothing(sim):\n    sim.explain('missing')")
    result = run(pytester, sim_server)
    result.stdout.fnmatch_lines([">*sim.explain('missing')", "E*SimulatorError: Failed to explain*"])
    result.stdout.no_fnmatch_line("*_transport.py*")
    result.stdout.no_fnmatch_line("*control.py:*")


def test_a_failed_test_without_a_request_says_so(pytester: pytest.Pytester, sim_server: Simulator) -> None:
    pytester.makepyfile("def test_that_sends_nothing(sim):\n    assert False")
    run(pytester, sim_server).stdout.fnmatch_lines(["Its client sent 0 requests."])


def test_worlds_are_deleted_after_their_tests(pytester: pytest.Pytester, sim_server: Simulator) -> None:
    before = [view["world"] for view in sim_server.control.list_worlds()]
    pytester.makepyfile(SUITE)
    run(pytester, sim_server)
    assert [view["world"] for view in sim_server.control.list_worlds()] == before


def test_a_flag_sets_the_seed_of_tests_that_set_none(pytester: pytest.Pytester, sim_server: Simulator) -> None:
    pytester.makepyfile(
        """
        import pytest

        def test_of_the_flag(sim):
            assert sim.control.get_world(sim.name)["seed"] == "42"

        @pytest.mark.sim(seed=7)
        def test_of_the_marker(sim):
            assert sim.control.get_world(sim.name)["seed"] == "7"
        """
    )
    run(pytester, sim_server, "--sim-seed", "42").assert_outcomes(passed=2)


def test_a_marker_with_an_unknown_option_is_an_error(pytester: pytest.Pytester, sim_server: Simulator) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.sim(fixture="empty")
        def test_with_a_typo(sim):
            pass

        @pytest.mark.sim("empty")
        def test_without_a_name(sim):
            pass
        """
    )
    result = run(pytester, sim_server)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*fixtures*", "*Failed to read the marker sim: it takes named options*"])


def test_the_tests_start_a_server_if_none_is_given(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MODELHOST_SIM_URL", raising=False)
    pytester.makepyfile("def test_it(sim): assert sim.clock.elapsed == 0")
    pytester.runpytest("-p", "modelhost_sim.pytest_plugin").assert_outcomes(passed=1)
