"""Deploys a model and prints the id of its deployment: `python3 deploy.py acme/chat`."""

import json
import os
import sys
import time
import urllib.request

from client import DeployClient


def sleep(seconds):
    """Waits. Below `modelhost-sim explore`, it moves the time of the simulator instead."""
    control = os.environ.get("MODELHOST_SIM_CONTROL")
    if not control:
        time.sleep(seconds)
        return
    body = json.dumps({"by": f"{seconds}s"}).encode()
    request = urllib.request.Request(
        f"{control}/clock/advance", data=body, headers={"Content-Type": "application/json"}
    )
    urllib.request.urlopen(request).close()


client = DeployClient(
    os.environ["MODELHOST_URL"],
    os.environ["MODELHOST_TOKEN"],
    sleep=sleep,
    timeout=float(os.environ.get("TIMEOUT_SECONDS", "30")),
)
print(client.deploy(sys.argv[1])["deploy_id"])
