"""Deploys models on a model-hosting service and waits until they run."""

import json
import time
import urllib.error
import urllib.request


class ServiceError(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body}")
        self.status = status


class DeployClient:
    def __init__(self, url, token, sleep=time.sleep):
        self.url = url
        self.token = token
        self.sleep = sleep

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise ServiceError(error.code, error.read().decode()) from error

    def deploy(self, model_name, gpu="H100-80GB", repo="acme/chat-8b", give_up_after=1800, poll_every=10):
        """Deploys a model and waits until it runs; what does not run in time is deleted, so that it costs nothing."""
        spec = {"model_name": model_name, "gpu": gpu, "hub": {"repo": repo}}
        deploy_id = self.with_retries("POST", "/deploy/llm", spec)["deploy_id"]
        for _ in range(give_up_after // poll_every):
            deployment = self.with_retries("GET", f"/deploy/{deploy_id}")
            if deployment["status"] == "running":
                return deployment
            if deployment["status"] == "failed":
                raise RuntimeError(f"{model_name} failed: {deployment['fail_reason']}")
            self.sleep(poll_every)
        self.call("DELETE", f"/deploy/{deploy_id}")
        raise TimeoutError(f"{model_name} does not run after {give_up_after} seconds")

    def with_retries(self, method, path, body=None, attempts=4):
        """Calls again, after longer and longer pauses, where it is the service that is in trouble."""
        for attempt in range(attempts):
            try:
                return self.call(method, path, body)
            except ServiceError as error:
                if error.status < 500 or attempt == attempts - 1:
                    raise
                self.sleep(2**attempt)
