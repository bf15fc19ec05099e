"""Stories of a test that uses a simulator."""

from datetime import datetime, timedelta, timezone

import pytest

from modelhost_sim import Simulator, SimulatorError

CREATE = {"model_name": "acme/chat", "gpu": "H100-80GB", "hub": {"repo": "acme/chat-8b"}}


def test_a_deployment_runs_after_its_cold_start(sim: Simulator) -> None:
    created = sim.call("POST", "/deploy/llm", CREATE)
    path = f"/deploy/{created['deploy_id']}"
    reached = sim.clock.until(path, {"status": "running"}, within="1h")
    assert reached["last"]["body"]["status"] == "running"
    assert timedelta(minutes=1) < timedelta(seconds=sim.clock.elapsed) < timedelta(hours=1)
    rent = sim.report()["money"]["rent_microcents"]
    assert rent > 0


@pytest.mark.sim(fixtures="two-nodes", seed=7, clock="manual")
def test_a_marker_sets_the_options_of_the_world(sim: Simulator) -> None:
    view = sim.control.get_world(sim.name)
    assert (view["fixtures"], view["seed"], view["clock"]["mode"]) == ("two-nodes", "7", "manual")


def test_each_world_has_its_own_time(sim: Simulator, sim_server: Simulator) -> None:
    before = sim_server.clock.now
    with sim.world(epoch="2027-05-01T00:00:00Z") as other:
        other.clock.advance(timedelta(hours=2))
        assert other.clock.now == datetime(2027, 5, 1, 2, tzinfo=timezone.utc)
        assert other.token != sim.token
        name = other.name
    assert sim.clock.elapsed == 0
    assert sim_server.clock.now == before
    with pytest.raises(SimulatorError) as refused:
        sim.control.get_world(name)
    assert refused.value.status == 404


def test_a_fork_continues_from_here_alone(sim: Simulator) -> None:
    sim.clock.advance("10m")
    with sim.fork() as fork:
        assert fork.clock.elapsed == 600
        fork.clock.advance(90.5)
        assert fork.clock.elapsed == 690.5
    assert sim.clock.elapsed == 600


def test_time_moves_by_text_seconds_and_timedelta(sim: Simulator) -> None:
    sim.clock.advance("1h30m")
    sim.clock.sleep(0.25)
    sim.clock.advance(timedelta(minutes=1))
    assert sim.clock.elapsed == 5460.25
    sim.clock.advance_to(sim.clock.now + timedelta(days=1))
    assert sim.clock.elapsed == 86_400 + 5460.25
    with pytest.raises(ValueError, match="Failed to read a duration: -1 is out of range"):
        sim.clock.advance(-1)


def test_a_fault_changes_one_answer(sim: Simulator) -> None:
    rule = sim.faults.add("status", on="listDeployments", rule={"times": 1}, status=503)
    with pytest.raises(SimulatorError) as refused:
        sim.call("GET", "/deploy/list")
    assert refused.value.status == 503
    assert isinstance(sim.call("GET", "/deploy/list"), list)
    assert [(view["id"], view["hits"]) for view in sim.faults.list()] == [(rule, 1)]
    sim.faults.remove(rule)
    assert sim.faults.list() == []


def test_a_rule_takes_words_of_python_with_an_underscore_and_without(sim: Simulator) -> None:
    for rule in ({"in": "batch", "from": "1h"}, {"in_": "batch", "from_": "1h"}):
        sim.faults.add("status", on="createChatCompletion", rule=rule, status=500)
    first, second = (view["rule"] for view in sim.faults.list())
    assert first == second
    assert first["in"] == "batch"


def test_a_field_that_is_none_is_sent_as_null(sim: Simulator) -> None:
    sim.call("POST", "/deploy/llm", {**CREATE, "settings": None})
    body = sim.requests(bodies="whole")[-1]["body"]
    assert isinstance(body, dict) and body["settings"] is None


def test_a_body_that_is_none_is_sent_as_null(sim: Simulator) -> None:
    with pytest.raises(SimulatorError) as refused:
        sim.call("POST", "/deploy/llm", None)
    assert refused.value.status == 422
    sim.call("GET", "/deploy/list")
    created, listed = sim.requests(bodies="whole")
    assert "body" in created and created["body"] is None
    assert "body" not in listed


def test_a_command_breaks_the_world_and_troubles_tell(sim: Simulator) -> None:
    sim.command("pool.stockOut", "H100-80GB")
    assert any("H100-80GB" in str(trouble) for trouble in sim.control.list_troubles())
    sim.control.heal_world()
    assert sim.control.list_troubles() == []


def test_a_snapshot_goes_to_another_world(sim: Simulator) -> None:
    sim.clock.advance("1h")
    sim.control.take_snapshot(name="later")
    data = sim.control.export_snapshot("later")
    with sim.world() as other:
        other.control.import_snapshot("theirs", data)
        assert other.control.restore_snapshot("theirs")["digest"] == sim.control.get_digest()["digest"]


@pytest.mark.parametrize(
    ("act", "status", "words"),
    [
        (lambda sim: sim.faults.add("stauts", status=503), 400, "status"),
        (lambda sim: sim.faults.add("status", on="listDeploymnts", status=503), 400, "listDeployments"),
        (lambda sim: sim.command("node.crsh", "h100-0"), 400, "node.crash"),
        (lambda sim: sim.clock.advance("soon"), 400, "soon"),
        (lambda sim: sim.clock.until("/deploy/list", [{"instances": {"running": {"gte": 1}}}]), 400, "1.."),
        (lambda sim: sim.world(fixture="empty"), 422, "fixtures"),
        (lambda sim: sim.call("GET", "/deploy/unknown"), 404, "unknown"),
    ],
)
def test_invalid_input_is_refused_with_the_words_of_the_server(sim: Simulator, act, status, words) -> None:
    with pytest.raises(SimulatorError, match=words) as refused:
        act(sim)
    assert refused.value.status == status


def test_a_wait_without_end_says_the_last_answer(sim: Simulator) -> None:
    with pytest.raises(SimulatorError, match=r"Failed to reach .* within 5m: the last answer is 200"):
        sim.clock.until("/deploy/list", [{"status": "failed", "model_name": "missing"}], within="5m")


def test_a_missing_server_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(SimulatorError, match=r"Failed to send POST /_sim/worlds to http://127.0.0.1:9: .*Simulator.start") as failed:
        Simulator.connect("http://127.0.0.1:9")
    assert failed.value.status == 0


def test_a_command_that_does_not_exist_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(SimulatorError, match="Failed to start 'no-such-command': .*Install Node"):
        Simulator.start(command=["no-such-command"])


def test_a_server_that_ends_at_once_says_why() -> None:
    with pytest.raises(SimulatorError, match="it ended. It printed: .*--sed"):
        Simulator.start(flags=["--sed", "7"])


def test_a_closed_simulator_can_be_closed_again(sim: Simulator) -> None:
    other = sim.world()
    other.close()
    other.close()
    assert "closed" in repr(other)


def test_the_requests_of_the_client_are_listed_and_verified(sim: Simulator) -> None:
    sim.faults.add("status", on="listDeployments", rule={"times": 1}, status=503)
    with pytest.raises(SimulatorError):
        sim.call("GET", "/deploy/list")
    created = sim.call("POST", "/deploy/llm", CREATE)
    assert [request["status"] for request in sim.requests()] == [503, 200]
    assert [request["decidedBy"] for request in sim.requests(status=503)] == ["fault"]
    assert len(sim.requests(subject=created["deploy_id"])) == 1
    sim.verify({"operation": "createLlmDeployment", "body": {"gpu": "H100-80GB"}, "exactly": 1})
    sim.verify({"operation": "listDeployments"}, {"operation": "createLlmDeployment"}, in_order=True)
    with pytest.raises(AssertionError, match="H200-141GB"):
        sim.verify({"operation": "createLlmDeployment", "body": {"gpu": "H200-141GB"}})
    with pytest.raises(SimulatorError, match="createLlmDeployment"):
        sim.verify({"operation": "createLlmDeploymnt"})


def test_a_refusal_is_explained_back_to_its_cause(sim: Simulator) -> None:
    created = sim.call("POST", "/deploy/llm", CREATE)
    sim.clock.until(f"/deploy/{created['deploy_id']}", {"status": "running"}, within="1h")
    node = sim.control.get_node_of_deployment(created["deploy_id"])["name"]
    sim.command("node.crash", node)
    explanation = sim.explain(created["deploy_id"])
    assert "acme/chat" in explanation.sentences[0]
    assert any(entry["kind"] == "node.crashed" for entry in explanation.chain)
    assert "Causes:" in str(explanation)
    with pytest.raises(SimulatorError, match=created["deploy_id"]):
        sim.explain(created["deploy_id"][:-1] + "_")


def test_events_are_read_as_they_come(sim: Simulator) -> None:
    sim.call("POST", "/deploy/llm", CREATE)
    sim.clock.advance("1h")
    events = list(sim.control.watch_events(kind="deployment.*", after="start", follow="false"))
    assert "deployment.running" in [event.data.get("kind") for event in events]
    assert all(event.id for event in events if event.event != "end")


def test_an_input_that_would_do_something_else_is_refused(sim: Simulator) -> None:
    sim.faults.add("reset", on="createLlmDeployment")
    for name in ("", ".", ".."):
        with pytest.raises(ValueError, match="is neither an id nor a name. Give one."):
            sim.faults.remove(name)
        with pytest.raises(ValueError, match="is neither an id nor a name. Give one."):
            sim.explain(name)
    assert len(sim.faults.list()) == 1
    with pytest.raises(ValueError, match="the path begins without a slash"):
        sim.call("GET", "deploy/list")
    with pytest.raises(ValueError, match="Failed to connect to 'localhost:4010': no address."):
        Simulator.connect("localhost:4010")


def test_an_invalid_field_is_named_in_words(sim: Simulator) -> None:
    with pytest.raises(SimulatorError) as refused:
        sim.world(fixturs="empty")
    assert str(refused.value).startswith("body.fixturs: Extra inputs are not permitted")
