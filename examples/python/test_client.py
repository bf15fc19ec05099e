import os
import unittest
import uuid

from client import DeployClient, ServiceError

URL = os.environ.get("MODELHOST_SIM_URL", "http://127.0.0.1:4010")


class DeployTest(unittest.TestCase):
    def setUp(self):
        # A token that nobody has used yet: a world of this test's own.
        token = f"test-{uuid.uuid4().hex}"
        self.sim = DeployClient(URL, token)
        self.slept = []
        self.client = DeployClient(URL, token, sleep=self.sleep)

    def sleep(self, seconds):
        """A sleep of the client's moves the world, and takes no time of ours."""
        self.slept.append(seconds)
        self.sim.call("POST", "/_sim/clock/advance", {"by": f"{seconds}s"})

    def test_waits_until_the_model_runs(self):
        deployment = self.client.deploy("acme/chat")
        self.assertEqual(deployment["status"], "running")
        self.assertGreater(len(self.slept), 3)

    def test_gives_up_when_no_gpu_comes_and_leaves_nothing_behind(self):
        self.sim.call("POST", "/_sim/commands", {"verb": "pool.stockOut", "target": "H100-80GB"})
        with self.assertRaisesRegex(TimeoutError, "acme/chat does not run after 600 seconds"):
            self.client.deploy("acme/chat", give_up_after=600)
        self.assertEqual([row["status"] for row in self.client.call("GET", "/deploy/list")], ["deleted"])

    def test_tries_again_when_the_service_is_in_trouble(self):
        rule = {"on": "createLlmDeployment", "times": 2, "fault": {"kind": "status", "status": 500}}
        self.sim.call("POST", "/_sim/faults", rule)
        self.client.deploy("acme/chat")
        self.assertEqual(self.slept[:2], [1, 2])

    def test_creates_one_deployment_when_the_answer_to_its_create_is_lost(self):
        rule = {"on": "createLlmDeployment", "times": 1, "fault": {"kind": "reset", "effect": "done"}}
        self.sim.call("POST", "/_sim/faults", rule)
        deployment = self.client.deploy("acme/chat")
        listed = self.client.call("GET", "/deploy/list")
        self.assertEqual([row["deploy_id"] for row in listed], [deployment["deploy_id"]])

    def test_reads_again_when_an_answer_breaks(self):
        for kind in ("reset", "empty", "truncated", "garbled"):
            rule = {"on": "getDeployment", "times": 1, "fault": {"kind": kind}}
            self.sim.call("POST", "/_sim/faults", rule)
        self.assertEqual(self.client.deploy("acme/chat")["status"], "running")

    def test_does_not_repeat_a_request_that_is_wrong(self):
        with self.assertRaises(ServiceError) as refused:
            self.client.deploy("acme/chat", gpu="H1000")
        self.assertEqual(refused.exception.status, 422)
        self.assertEqual(self.slept, [])


if __name__ == "__main__":
    unittest.main()
