import { expect, onTestFinished, test, vi } from 'vitest'
import { type Running, running } from './running-server.ts'

const DEPLOYMENT = { model_name: 'acme/chat', max_batch_size: 1 }

/** Sends a chat to a world whose address is `base`. */
function chat({ ask }: Running, base: string, more: object = {}): Promise<Response> {
  const body = { model: 'acme/chat', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 2000, ...more }
  const headers = { 'content-type': 'application/json' }
  return ask(`${base}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** What the process writes on its streams from now on. */
function written(): () => string[] {
  const texts: string[] = []
  const spies = [
    ...(['error', 'info', 'log'] as const).map(name =>
      vi.spyOn(console, name).mockImplementation((...args) => void texts.push(args.join(' '))),
    ),
    vi.spyOn(process.stderr, 'write').mockImplementation(text => texts.push(String(text)) > 0),
  ]
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
  })
  return () => texts
}

test.each([
  ['reset', '', (world: Running) => world.command('/_sim/reset')],
  ['restored', '', (world: Running) => world.command('/_sim/snapshots/before/restore')],
  ['deleted', '/_sim/worlds/w1', (world: Running) => world.command('/_sim/worlds/w1', undefined, 'DELETE')],
])(
  'a chat that waits is answered, and a stream is cut, when its world is %s',
  { tags: 'slow' },
  async (_, base, replace) => {
    const world = await running({
      ...{ fixtures: 'two-nodes', with: { deployments: [DEPLOYMENT] }, inferencePace: 'clock' },
      onBug: error => expect.unreachable(String(error)),
    })
    await world.command('/_sim/snapshots', { name: 'before' })
    if (base !== '') await world.command('/_sim/worlds', { from: 'default' })
    const { sim } = world.server.worlds.all().at(-1)!
    const stream = await chat(world, base, { stream: true })
    const streamed = stream.text().catch((error: Error) => error.message)
    const waiting = chat(world, base)
    await vi.waitFor(() => expect(sim.pendingRequests).toHaveLength(2))
    const texts = written()

    expect((await replace(world)).status).toBe(200)

    const answer = await waiting
    expect(answer.status).toBe(409)
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.headers.get('date')).toBe('Thu, 01 Jan 2026 00:00:00 GMT')
    const detail =
      'Failed to answer POST /v1/chat/completions: the world was reset, restored or deleted while the request waited. Send it again.'
    expect(answer.headers.get('x-sim-error')).toBe(detail)
    expect(await answer.json()).toEqual({ detail })
    expect(await streamed).toBe('terminated')
    await vi.waitFor(() => expect(world.server.inFlight).toBe(0))
    expect(texts()).toEqual([])
  },
)

test('a move is refused with 409 when its world is reset meanwhile', async () => {
  const world = await running({ fixtures: 'fleet' })
  const moving = world.command('/_sim/clock/advance', { by: '60d' })
  await vi.waitFor(() => expect(world.sim.clock.isMoving).toBe(true))
  world.sim.reset()
  expect(await moving).toEqual({
    status: 409,
    body: { detail: expect.stringContaining('the simulator was reset during the move') },
  })
})

test('a stream is cut without a note on stderr when its instance is lost', async () => {
  const world = await running({
    ...{ fixtures: 'two-nodes', with: { deployments: [DEPLOYMENT] }, inferencePace: 'clock' },
  })
  const stream = await chat(world, '', { stream: true })
  const streamed = stream.text().catch((error: Error) => error.message)
  await vi.waitFor(() => expect(world.sim.pendingRequests).toHaveLength(1))
  const texts = written()

  for (const { name } of world.sim.cluster.nodes()) world.sim.cluster.node(name).crash()
  await world.sim.clock.advance('1h')

  expect(await streamed).toBe('terminated')
  expect(texts()).toEqual([])
})
