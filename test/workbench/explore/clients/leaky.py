"""Deploys a model and waits until it runs. If a request fails, it gives up, and the deployment stays."""

import json
import os
import sys
import time
import urllib.error
import urllib.request

URL = os.environ["MODELHOST_URL"]
TOKEN = os.environ["MODELHOST_TOKEN"]
POLL_SECONDS = float(os.environ.get("POLL_SECONDS", "10"))
TIMEOUT_SECONDS = float(os.environ.get("TIMEOUT_SECONDS", "30"))


def call(method, path, body=None):
    request = urllib.request.Request(
        URL + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        return json.load(response)


def main():
    spec = {"model_name": "acme/chat", "gpu": "H100-80GB", "hub": {"repo": "acme/chat-8b"}}
    deploy_id = call("POST", "/deploy/llm", spec)["deploy_id"]
    for _ in range(180):
        if call("GET", f"/deploy/{deploy_id}")["status"] == "running":
            print(deploy_id)
            return
        time.sleep(POLL_SECONDS)
    sys.exit(f"{deploy_id} does not run")


main()
