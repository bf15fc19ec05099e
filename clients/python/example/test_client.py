"""Tests of the client: each in a world of its own, whose time the client's sleep moves."""

import pytest
from client import DeployClient, ServiceError
from modelhost_sim import Simulator

pytestmark = pytest.mark.sim(fixtures="empty")


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def client(sim: Simulator, slept: list[float]) -> DeployClient:
    def sleep(seconds: float) -> None:
        """A sleep of the client moves the world, and takes no time of ours."""
        slept.append(seconds)
        sim.clock.sleep(seconds)

    return DeployClient(sim.url, sim.token, sleep=sleep)


def test_waits_until_the_model_runs(client, slept):
    assert client.deploy("acme/chat")["status"] == "running"
    assert len(slept) > 3


def test_gives_up_when_no_gpu_comes_and_leaves_nothing_behind(sim, client):
    sim.command("pool.stockOut", "H100-80GB")
    with pytest.raises(TimeoutError, match="acme/chat does not run after 600 seconds"):
        client.deploy("acme/chat", give_up_after=600)
    assert [row["status"] for row in sim.call("GET", "/deploy/list")] == ["deleted"]


def test_tries_again_when_the_service_is_in_trouble(sim, client, slept):
    sim.faults.add("status", on="createLlmDeployment", rule={"times": 2}, status=500)
    client.deploy("acme/chat")
    assert slept[:2] == [1, 2]


def test_creates_one_deployment_when_the_answer_to_its_create_is_lost(sim, client):
    sim.faults.add("reset", on="createLlmDeployment", rule={"times": 1}, effect="done")
    deployment = client.deploy("acme/chat")
    assert [row["deploy_id"] for row in sim.call("GET", "/deploy/list")] == [deployment["deploy_id"]]


@pytest.mark.parametrize("kind", ["reset", "empty", "truncated", "garbled"])
def test_reads_again_when_an_answer_breaks(sim, client, kind):
    sim.faults.add(kind, on="getDeployment", rule={"times": 1})
    assert client.deploy("acme/chat")["status"] == "running"


def test_does_not_repeat_a_request_that_is_wrong(client, slept):
    with pytest.raises(ServiceError) as refused:
        client.deploy("acme/chat", gpu="H1000")
    assert refused.value.status == 422
    assert slept == []
