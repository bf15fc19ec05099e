"""A first test: a client deploys a model, and time moves until it runs. Put the calls of your client in place of these.

It needs a server: npx modelhost-sim exec -- pytest
"""

import json
import os
import urllib.request

import pytest

URL = os.environ.get("MODELHOST_SIM_URL")


def call(method, path, body=None):
    headers = {"authorization": f"Bearer {os.environ['MODELHOST_SIM_TOKEN']}", "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers, method=method)) as answer:
        return json.load(answer)


@pytest.mark.skipif(URL is None, reason="it needs a server: npx modelhost-sim exec -- pytest")
def test_a_deployment_runs_after_its_start():
    model = {"model_name": "first", "gpu": "H100-80GB", "hub": {"repo": "acme/chat-8b"}}
    deploy_id = call("POST", "/deploy/llm", model)["deploy_id"]

    until = {"get": f"/deploy/{deploy_id}", "where": {"status": "running"}, "within": "1h"}
    call("POST", "/_sim/clock/until", until)
    assert call("GET", f"/deploy/{deploy_id}")["status"] == "running"
