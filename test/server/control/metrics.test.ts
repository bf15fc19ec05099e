import { expect, test } from 'vitest'
import { acceptedFormat } from '../../../src/server/control/metrics/metrics-text.ts'
import { parseExposition } from '../../simulation/metrics/exposition-parser.ts'
import { type Running, running } from '../http/running-server.ts'

async function read({ ask }: Running, path: string, accept = 'text/plain') {
  const response = await ask(path, { headers: { accept } })
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

/** The lines without those of the process, which follow the real clock. */
function simulated(text: string): string {
  return text
    .split('\n')
    .filter(line => !line.includes('process_'))
    .join('\n')
}

test('the metrics page has both formats by Accept, and is equal for two readings at one instant', async () => {
  const world = await running()
  const plain = await read(world, '/_sim/metrics')
  expect(plain).toMatchObject({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' })
  const families = parseExposition(plain.text, 'prometheus')
  expect(families.get('modelhost_sim_worlds')!.samples[0]!.value).toBe(1)
  expect(families.get('modelhost_sim_virtual_time_seconds')!.samples[0]!.value).toBe(1_767_225_600)
  expect(families.get('process_resident_memory_bytes')!.samples[0]!.value).toBeGreaterThan(10_000_000)
  const expected = { model_name: 'acme/assistant', engine: '0', pod: '2cZeTxVFN7tKxCCh-0' }
  expect(families.get('vllm:num_requests_running')!.samples[0]!.labels).toMatchObject(expected)
  const open = await read(world, '/_sim/metrics', 'application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.3')
  expect(open.type).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
  expect(parseExposition(open.text, 'openmetrics').get('vllm:prompt_tokens')!.type).toBe('counter')
  expect(simulated((await read(world, '/_sim/metrics')).text)).toBe(simulated(plain.text))
})

test('the metrics page counts requests by operation and status, and reading it changes neither digest nor journal', async () => {
  const world = await running()
  const { digest } = world.sim
  await world.ask('/v1/me')
  await world.ask('/v1/me')
  await world.ask('/deploy/unknown')
  const { text } = await read(world, '/_sim/metrics')
  const { samples } = parseExposition(text, 'prometheus').get('modelhost_sim_requests_total')!
  const expected = [
    ['getDeployment', '404', 1],
    ['getMe', '200', 2],
  ]
  expect(samples.map(({ labels, value }) => [labels.operation, labels.status, value])).toEqual(expected)
  expect(world.sim.digest).toBe(digest)
  expect(world.sim.journal.entries().map(({ fields }) => fields?.operation)).not.toContain('getMetrics')
  world.sim.reset()
  expect(world.sim.requestCounts).toEqual([])
})

test('the page of one engine has the labels of the engine alone', async () => {
  const world = await running()
  const { status, text } = await read(world, '/_sim/engines/2cZeTxVFN7tKxCCh-0/metrics')
  expect(status).toBe(200)
  const families = parseExposition(text, 'prometheus')
  expect(families.get('vllm:num_requests_running')!.samples).toEqual([
    {
      name: 'vllm:num_requests_running',
      labels: { engine: '0', model_name: 'acme/assistant' },
      value: 0,
      time: undefined,
    },
  ])
  expect([...families.keys()].every(name => name.startsWith('vllm:'))).toBe(true)
})

test('the page of an unknown instance is refused with 404, and that of one that starts with 503', async () => {
  const world = await running()
  expect(await world.command('/_sim/engines/nothing-0/metrics', undefined, 'GET')).toEqual({
    status: 404,
    body: {
      error:
        "Failed to read the metrics of 'nothing-0': unknown instance. GET /_sim/metrics lists the engines as 'pod'.",
    },
  })
  const starting = [...world.sim.world.instances.entries()].find(([, { state }]) => state !== 'ready')![1]
  expect(await world.command(`/_sim/engines/${starting.id}/metrics`, undefined, 'GET')).toEqual({
    status: 503,
    body: {
      error: `Failed to read the metrics of '${starting.id}': it is ${starting.state}. Advance the clock until it is ready.`,
    },
  })
})

test.each([
  ['', 'prometheus'],
  ['*/*', 'prometheus'],
  ['text/plain;version=0.0.4', 'prometheus'],
  ['application/openmetrics-text', 'openmetrics'],
  [
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,' +
      'text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2',
    'openmetrics',
  ],
  ['text/plain, application/openmetrics-text;q=0.5', 'prometheus'],
  ['text/plain, application/openmetrics-text', 'openmetrics'],
  ['application/openmetrics-text;q=0', 'prometheus'],
  ['Application/OpenMetrics-Text; Q=1', 'openmetrics'],
] as const)('the header Accept: %s selects the format %s', (accept, format) => {
  expect(acceptedFormat(accept)).toBe(format)
})
