/** The lives of things as a page draws them. */
import { expect, test } from 'vitest'
import { type Running, running } from '../http/running-server.ts'

const ID = 'Chat000000000001'
const deployments = [{ deploy_id: ID, model_name: 'acme/chat' }]

// biome-ignore lint/suspicious/noExplicitAny: whatever the server answers
type Answer = any

const look = ({ read }: Running, query = ''): Promise<Answer> => read(`/_sim/lifecycles?${query}`)

const rowOf = (answer: Answer, id: string) => answer.rows.find((row: Answer) => row.id === id)

test('a deployment and its instance go through the states of the journal, with their times', async () => {
  const server = await running({ fixtures: 'two-nodes', with: { deployments } })
  const id = await server.deploy()
  await server.sim.clock.advance('20m')
  const answer = await look(server)
  const entries = server.sim.journal.entries()
  const states = (subject: string) =>
    entries
      .filter(entry => entry.subject === subject && !/created$/.test(entry.kind))
      .map(({ kind, time, seq }) => [kind.split('.')[1], time, seq])
  const shown = (subject: string) =>
    rowOf(answer, subject).segments.map(({ state, begin, seq }: Answer) => [state, begin, seq])
  expect(shown(id).slice(1)).toEqual(states(id))
  expect(shown(`${id}-0`)).toEqual(states(`${id}-0`))
  const ready = entries.find(({ kind, subject }) => kind === 'instance.ready' && subject === `${id}-0`)!
  expect(rowOf(answer, id)).toMatchObject({
    ...{ kind: 'deployment', name: 'acme/new', state: 'running', begin: 0, end: null, requests: 1 },
    replicas: [
      { time: 0, ready: 0, starting: 1 },
      { time: ready.time, ready: 1, starting: 0 },
    ],
  })
  // The world began with the other one.
  expect(rowOf(answer, ID)).toMatchObject({ state: 'running', segments: [{ begin: 0, end: null, seq: 0 }] })
  expect(rowOf(answer, `${ID}-0`)).toMatchObject({ owner: ID, state: 'ready' })
})

test('kinds, windows and limits choose rows, and a deleted deployment has an end', async () => {
  const server = await running({ fixtures: 'two-nodes', with: { deployments } })
  const id = await server.deploy()
  await server.sim.clock.advance('10m')
  await server.ask(`/deploy/${ID}`, { method: 'DELETE' })
  await server.sim.clock.advance('10m')
  const kinds = await look(server, 'kind=deployment')
  expect(rowOf(kinds, ID)).toMatchObject({ state: 'deleted', end: 600_000_000 })
  expect(kinds.rows.every((row: Answer) => row.kind === 'deployment')).toBe(true)
  expect(rowOf(await look(server, 'kind=deployment&from=15m'), ID)).toBeUndefined()
  const [one, two] = kinds.rows
  expect((await look(server, 'kind=deployment&limit=1')).rows).toEqual([one])
  expect([one.id, two.id].sort()).toEqual([ID, id].sort())
  const refused = async (query: string) => (await server.command(`/_sim/lifecycles?${query}`, undefined, 'GET')).body
  expect((await refused('kind=deploiment')).error).toContain("unknown kind 'deploiment'. Did you mean 'deployment'?")
  expect((await refused('from=yesterday')).error).toContain('invalid time "yesterday" in \'from\'')
})

test('faults and outages are marks of the world', async () => {
  const server = await running({ fixtures: 'two-nodes', with: { deployments } })
  await server.command('/_sim/faults', { on: 'listDeployments', fault: { kind: 'status', status: 503 } })
  await server.ask('/deploy/list')
  await server.command('/_sim/commands', { verb: 'zone.down', target: 'east-a' })
  const { world_marks: marks } = await look(server)
  expect(marks.map(({ kind }: Answer) => kind)).toEqual(['fault.added', 'fault.hit', 'zone.down'])
  expect(marks[2].sentence).toBe('The zone east-a went down, and all of its nodes are lost.')
})
