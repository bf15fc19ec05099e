import { createSimulator } from 'modelhost-sim'
import { explore, flow } from 'modelhost-sim/explore'
import { expect, test } from 'vitest'
import { call, deployAnywhere, type Host, startPod, startPodSafely } from './client.ts'
import { endpoints, type Pod } from './pods.ts'

function hostOf(sim = createSimulator({ endpoints, fixtures: 'empty', seed: 1 })) {
  const host: Host = {
    fetch: sim.fetch,
    url: 'http://sim',
    token: sim.token,
    sleep: async ms => void (await sim.clock.advance(ms)),
  }
  return { sim, host }
}

test('a pod runs after 40 seconds, and costs money until it is deleted', async () => {
  const { sim, host } = hostOf()
  const { id } = await startPod(host, 'chat')
  expect(sim.clock.elapsed).toBe(40_000_000)
  await sim.clock.advance('1h')
  await call(host, 'DELETE', `/rest/v1/pods/${id}`)
  await sim.clock.advance('1h')
  const [rent] = sim.ledger.entries().filter(({ subject }) => subject === id)
  expect(rent?.microcents).toBeLessThan(0)
})

test('a client that fails over takes a pod if the first host has no GPU', async () => {
  const { sim, host } = hostOf()
  sim.cluster.stockOut('H100-80GB')
  expect(await deployAnywhere(host, 'chat')).toMatch(/^pod_/)
  expect(sim.clock.elapsed).toBe(640_000_000)
})

test('explore finds the leak of the careless client, and none of the careful one', async () => {
  const options = { fixtures: 'empty', endpoints } as const
  const careless = flow('careless', options, host => startPod(host, 'chat'))
  const { findings } = await explore(careless, { faults: 'singles' })
  expect(findings.map(({ invariant }) => invariant)).toContain('cleansUpOnThrow')
  expect(findings.find(({ invariant }) => invariant === 'cleansUpOnThrow')?.why).toMatch(/The pod pod_\w+ .*\$/s)
  const careful = flow('careful', options, host => startPodSafely(host, 'chat'))
  expect((await explore(careful, { faults: 'singles' })).findings).toEqual([])
}, 60_000)

test('pods fork with the world', async () => {
  const { sim, host } = hostOf()
  await startPod(host, 'chat')
  const twin = sim.fork()
  const other = hostOf(twin as typeof sim).host
  await startPod(other, 'embed')
  expect(await call<Pod[]>(host, 'GET', '/rest/v1/pods')).toHaveLength(1)
  expect(await call<Pod[]>(other, 'GET', '/rest/v1/pods')).toHaveLength(2)
})
