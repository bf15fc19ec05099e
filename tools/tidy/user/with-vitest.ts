/** A test of a user. */
import { expect, test } from 'modelhost-sim/vitest'

test('the client lists its deployments once', async ({ sim }) => {
  await sim.fetch('http://sim/deploy/list', { headers: { authorization: `Bearer ${sim.token}` } })
  expect(sim).toHaveReceived('listDeployments', { times: 1 })
})
