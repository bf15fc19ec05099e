"""Needs `pip install testcontainers pytest`, an engine for containers, and the files of Dockerfile."""

import json
import urllib.request
from pathlib import Path

import pytest
from testcontainers.core.container import DockerContainer
from testcontainers.core.image import DockerImage
from testcontainers.core.waiting_utils import wait_for_logs

CONTROL_TOKEN = "of-this-test"


@pytest.fixture(scope="module")
def url():
    with DockerImage(path=Path(__file__).parent) as image:
        container = DockerContainer(str(image)).with_exposed_ports(4010)
        container.with_env("MODELHOST_SIM_CONTROL_TOKEN", CONTROL_TOKEN)
        container.with_command("--clock manual --fixtures empty")
        with container:
            wait_for_logs(container, "ready in")
            yield f"http://{container.get_container_host_ip()}:{container.get_exposed_port(4010)}"


def ask(url, headers, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json", **headers})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_a_deployment_runs_after_ten_minutes_of_the_simulator(url):
    service = {"authorization": "Bearer sim_empty_token"}
    model = {"model_name": "acme/chat", "gpu": "H100-80GB", "hub": {"repo": "acme/chat-8b"}}
    ask(f"{url}/deploy/llm", service, model)
    ask(f"{url}/_sim/clock/advance", {"x-sim-control-token": CONTROL_TOKEN}, {"by": "10m"})
    assert [one["status"] for one in ask(f"{url}/deploy/list", service)] == ["running"]
