/** What will happen next, from a copy of the world that runs ahead. */

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { forAllAsync } from '../../setup/for-all.ts'
import { type Running, running } from '../http/running-server.ts'

const MODEL = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

async function create({ ask }: Running): Promise<string> {
  const body = JSON.stringify(MODEL)
  const response = await ask('/deploy/llm', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { deploy_id } = (await response.json()) as { deploy_id: string }
  return deploy_id
}

const lookAhead = async ({ command }: Running, query: string) => {
  const { status, body } = await command(`/_sim/ahead?${query}`, undefined, 'GET')
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

test('a look ahead lists exactly what then happens, and leaves the world as it was', async () => {
  const server = await running({ fixtures: 'two-nodes' })
  const id = await create(server)
  const { sim } = server
  const before = [sim.digest, sim.clock.iso, sim.world.journal.last]
  const ahead = await lookAhead(server, 'by=30m&limit=1000')
  expect([sim.digest, sim.clock.iso, sim.world.journal.last]).toEqual(before)
  expect(ahead).toMatchObject({ from: sim.clock.iso, to: '2026-01-01T00:30:00.000000+00:00' })

  const { last } = sim.world.journal
  await sim.clock.advance('30m')
  const minor = ['instance.imagePulled', 'batch.progressed']
  const happened = sim.world.journal.entries(last).filter(({ kind }) => !minor.includes(kind))
  const came = ahead.entries.map(({ time, kind, subject }: Record<string, unknown>) => ({ time, kind, subject }))
  expect(came).toEqual(happened.map(({ time, kind, subject }) => ({ time, kind, subject })))
  const start = ahead.entries.find(({ kind }: { kind: string }) => kind === 'deployment.running')
  expect(start).toMatchObject({ subject: id, visible: true, sentence: `The deployment ${id} began to run.` })
})

test('a scheduled command is part of what comes, and limit and visible shorten the list', async () => {
  const server = await running({ fixtures: 'two-nodes' })
  await create(server)
  await server.command('/_sim/commands', { verb: 'node.crash', target: 'h100-0', at: '10m' })
  const all = await lookAhead(server, 'by=20m')
  expect(all.entries).toContainEqual(
    expect.objectContaining({ kind: 'node.crashed', subject: 'h100-0', in: '10m', time: 600_000_000 }),
  )
  const visible = await lookAhead(server, 'by=20m&visible=true')
  expect(visible.entries).toEqual(all.entries.filter((entry: { visible: boolean }) => entry.visible))
  expect(visible.entries.length).toBeLessThan(all.entries.length)
  const two = await lookAhead(server, 'by=20m&limit=2')
  expect(two).toMatchObject({ stopped_by: 'limit', entries: all.entries.slice(0, 2), to: all.entries[1].at })
})

test('the first visible entry comes when the clock moves to the next visible change', async () => {
  await forAllAsync([fc.integer({ min: 0, max: 1200 })], { numRuns: 5 }, async seconds => {
    const server = await running({ fixtures: 'two-nodes' })
    await create(server)
    await server.sim.clock.advance(`${seconds}s`)
    const [first] = (await lookAhead(server, 'by=1h&visible=true&limit=1')).entries
    await server.sim.clock.next({ visible: true, within: '1h' })
    // A change of a count is visible, and has no entry of its own.
    if (first !== undefined) expect(server.sim.clock.iso <= first.at).toBe(true)
  })
})

test('an invalid duration or limit is refused, and nothing planned is said', async () => {
  const server = await running({ fixtures: 'empty' })
  const refused = async (query: string) => (await server.command(`/_sim/ahead?${query}`, undefined, 'GET')).status
  expect([await refused('by=soon'), await refused('by=300y'), await refused('limit=0')]).toEqual([400, 400, 422])
  const ahead = await lookAhead(server, 'by=1h')
  expect(ahead).toMatchObject({ entries: [], to: '2026-01-01T01:00:00.000000+00:00', events: 0 })
})
