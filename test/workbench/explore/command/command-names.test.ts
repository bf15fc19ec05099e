/** A command has the name of its script or its program. */
import { expect, test } from 'vitest'
import { commandFlow } from '../../../../src/workbench/explore/declare-flow.ts'

test.each([
  ['client', ['python3', 'client.py']],
  ['deploy acme/chat --json', ['python3', '/app/clients/deploy.py', 'acme/chat', '--json']],
  ['client', ['sh', '-c', 'ACME_URL=$MODELHOST_URL exec venv/bin/python3.12 -m modelhost_sim.run client.py']],
  ['smoke-test a', ['sh', '-c', 'API=$MODELHOST_URL exec bash ./smoke-test.sh a']],
  ['deploy a', ['sh', '-c', 'API=$MODELHOST_URL exec /opt/bin/deploy a']],
  ['go run ./cmd/client', ['go', 'run', './cmd/client']],
  ['client', ['./client']],
  ['python3.12 -m acme.deploy', ['.venv/bin/python3.12', '-m', 'acme.deploy']],
  ['', []],
])('%s', (name, command) => {
  expect(commandFlow(command)).toEqual({ name, options: {}, command })
})
