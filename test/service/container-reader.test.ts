/** A program that shows a team what its containers do and cost. It knows the document of the service and nothing else. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { BodyValidator } from '../../src/cli/conform/bodies.ts'
import { OpenapiDocument } from '../../src/cli/conform/document.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'

interface Container {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly start_ts: number
  readonly state_ts: number
  readonly stop_ts: number | null
  readonly ip: string | null
  readonly gpu_config: string
  readonly price_per_hour: number
  readonly container_image: string
  readonly fail_reason: string | null
}

interface Line {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly gpus: number
  readonly billedSeconds: number
  readonly usd: number
  /** The address to connect to, or why it is missing. */
  readonly address: string
}

type Get = (path: string) => Promise<unknown>

/** Returns a line for each container: the active ones, then the inactive ones, each the oldest first. */
async function readContainers(get: Get, from: number, to: number): Promise<Line[]> {
  const active = (await get('/v1/containers')) as Container[]
  const inactive = (await get('/v1/containers?state=inactive')) as Container[]
  const rent = (await get(`/payment/usage/rent?from=${from}&to=${to}`)) as { id_to_duration: Record<string, number> }
  return [...active, ...inactive].map(one => {
    const billedSeconds = rent.id_to_duration[one.id] ?? 0
    return {
      ...{ id: one.id, name: one.name, state: one.state, billedSeconds },
      gpus: Number(one.gpu_config.split('x')[0]),
      usd: (billedSeconds / 3600) * one.price_per_hour,
      address: one.ip ?? one.fail_reason ?? (one.stop_ts === null ? 'not yet' : 'gone'),
    }
  })
}

/** The same, and a check of every container by the schema of the document. */
function checkedBySchema(get: Get): Get {
  const document = new OpenapiDocument(JSON.parse(readFileSync('test/cli/conform/neighbours-openapi.json', 'utf8')))
  const root = { value: document.root, pointer: '#' }
  const record = document.partAt(root, 'components', 'schemas', 'ContainerRentalOut')!
  const bodies = new BodyValidator(document)
  return async path => {
    const body = await get(path)
    if (Array.isArray(body)) for (const one of body) expect(bodies.findDifferences(record, one)).toEqual([])
    return body
  }
}

test('a reader of containers shows the figures of the report', async () => {
  const sim = createSimulator({
    ...{ fixtures: 'two-nodes', seed: 7, check: true },
    with: { account: { gpu_limits: { 'H100-80GB': null } } },
  })
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const send = async (method: string, path: string, body?: object) => {
    const request = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const answer = await sim.fetch(`http://sim${path}`, request)
    expect(answer.status).toBe(200)
    return answer.json() as Promise<unknown>
  }
  const rent = async (name: string, gpu_config: string, container_image = 'registry.example/dev:1') => {
    const user = { cloud_init_user_data: '#cloud-config' }
    const made = await send('POST', '/v1/containers', { name, gpu_config, container_image, ...user })
    return (made as { container_id: string }).container_id
  }
  const get = checkedBySchema(path => send('GET', path))
  const start = Math.floor(sim.clock.now.getTime() / 1000)
  const read = () => readContainers(get, start, Math.floor(sim.clock.now.getTime() / 1000))

  const training = await rent('training', '4xH100-80GB')
  await sim.clock.advance('1s')
  const notebook = await rent('notebook', '1xH100-80GB')
  await sim.clock.advance('1s')
  const broken = await rent('broken', '1xH100-80GB', 'No Such Image')
  expect((await read()).map(({ address }) => address)).toEqual(['not yet', 'not yet', 'not yet'])
  await sim.clock.advance('3h')
  await send('DELETE', `/v1/containers/${notebook}`)
  await sim.clock.advance('90m')
  const late = await rent('late', '2xH100-80GB')
  await sim.clock.advance('1s')

  const lines = await read()
  expect(lines.map(({ id, state, address }) => [id, state, address])).toEqual([
    [training, 'running', expect.stringMatching(/^(\d{1,3}\.){3}\d{1,3}$/)],
    [late, 'creating', 'not yet'],
    [notebook, 'deleted', 'gone'],
    [broken, 'failed', expect.stringContaining('No Such Image')],
  ])
  const { money, totals } = sim.report()
  const billed = lines.filter(({ billedSeconds }) => billedSeconds > 0)
  expect(billed.map(({ id, name }) => [id, name]).sort()).toEqual(
    money.containers.map(({ container_id, name }) => [container_id, name]),
  )
  for (const { id, billedSeconds, gpus, usd } of billed) {
    const { billed_gpu_hours, rent_microcents } = money.containers.find(one => one.container_id === id)!
    // The service answers whole seconds.
    expect(Math.floor((billed_gpu_hours * 3600) / gpus)).toBe(billedSeconds)
    const usdOfReport = rent_microcents / 1e8
    expect(usdOfReport - usd).toBeGreaterThanOrEqual(0)
    expect(usdOfReport - usd).toBeLessThan(usdOfReport / billedSeconds)
  }
  const usd = billed.reduce((sum, line) => sum + line.usd, 0)
  expect(usd).toBeGreaterThan(30)
  expect(usd).toBeCloseTo(money.rent_microcents / 1e8, 1)
  expect(totals.deployments).toBe(0)
})
