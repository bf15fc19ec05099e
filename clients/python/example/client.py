"""Deploys models on a model-hosting service and waits until they run. It survives the failure of any single request."""

import http.client
import json
import time
import urllib.error
import urllib.request

RETRIES = 7
ENDED = ("deleted", "failed", "stopped")


class ServiceError(Exception):
    """An error answer. `retry_after` is the pause in seconds that the service asks for, or None."""

    def __init__(self, status, body, retry_after=None):
        super().__init__(f"{status}: {body}")
        self.status = status
        self.retry_after = int(retry_after) if (retry_after or "").isdigit() else None


# A broken connection (OSError covers timeouts), a body that ends early, and an unreadable answer.
BROKEN_ANSWER = (OSError, http.client.HTTPException, ValueError)


class DeployClient:
    def __init__(self, url, token, sleep=time.sleep, timeout=30):
        self.url = url
        self.token = token
        self.sleep = sleep
        self.timeout = timeout

    def call(self, method, path, body=None):
        """Sends one request and reads the JSON of its answer."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise ServiceError(error.code, error.read().decode(), error.headers.get("Retry-After")) from error

    def deploy(self, model_name, gpu="H100-80GB", repo="acme/chat-8b", give_up_after=1800, poll_every=10):
        """Deploys a model and waits until it runs.

        If a deployment with this name exists, the client uses it, so a second call creates no second one.
        If the deployment does not run in time, the client deletes it, so that it costs nothing.
        """
        spec = {"model_name": model_name, "gpu": gpu, "hub": {"repo": repo}}
        deploy_id = self.find_or_create(spec)["deploy_id"]
        try:
            for _ in range(give_up_after // poll_every):
                deployment = self.retry(lambda: self.call("GET", f"/deploy/{deploy_id}"))
                if deployment["status"] == "running":
                    return deployment
                if deployment["status"] in ENDED:
                    raise RuntimeError(f"{model_name} is {deployment['status']}: {deployment['fail_reason']}")
                self.sleep(poll_every)
            raise TimeoutError(f"{model_name} does not run after {give_up_after} seconds")
        except BaseException:
            self.delete(deploy_id)
            raise

    def find_or_create(self, spec):
        """Looks before each create: after a failed one, the service may have done the work and lost its answer."""

        def step():
            for deployment in self.call("GET", "/deploy/list"):
                if deployment["model_name"] == spec["model_name"] and deployment["status"] not in ENDED:
                    return deployment
            return self.call("POST", "/deploy/llm", spec)

        return self.retry(step, also_retried=(409,))

    def delete(self, deploy_id):
        """Deletes a deployment. If a request whose answer was lost deleted it already, this is not an error."""
        try:
            self.retry(lambda: self.call("DELETE", f"/deploy/{deploy_id}"))
        except ServiceError as error:
            if error.status != 404:
                raise

    def retry(self, step, also_retried=()):
        """Runs a step again while its error is one that passes, after the pause that the service asks for."""
        for attempt in range(RETRIES + 1):
            pause = 2**attempt
            try:
                return step()
            except ServiceError as error:
                can_pass = error.status >= 500 or error.status in (408, 429, *also_retried)
                if not can_pass or attempt == RETRIES:
                    raise
                pause = max(pause, error.retry_after or 0)
            except BROKEN_ANSWER:
                if attempt == RETRIES:
                    raise
            self.sleep(pause)
