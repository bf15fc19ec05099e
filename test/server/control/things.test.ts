/** The inspector: what an id is, and everything about it. */
import { expect, test } from 'vitest'
import { type Running, running } from '../http/running-server.ts'

const ID = 'Chat000000000001'
const deployments = [{ deploy_id: ID, model_name: 'acme/chat' }]
const HUB = { repo: 'acme/chat-8b', token: 'hub_canary_token' }

// biome-ignore lint/suspicious/noExplicitAny: whatever the server answers
type Answer = any

const inspect = ({ read }: Running, id: string | number): Promise<Answer> =>
  read(`/_sim/things/${encodeURIComponent(id)}`)

test('a deployment is shown as the service shows it, with its entries, requests, postings and relations', async () => {
  const server = await running({ fixtures: 'two-nodes', with: { deployments } })
  const id = await server.deploy({ hub: HUB })
  await server.sim.clock.advance('1h')
  const before = [server.sim.digest, server.sim.world.journal.last, server.sim.requests.length]
  const thing = await inspect(server, id)
  expect([server.sim.digest, server.sim.world.journal.last, server.sim.requests.length]).toEqual(before)
  expect(thing).toMatchObject({ id, kind: 'deployment', path: `/deploy/${id}` })
  expect(JSON.stringify(thing)).not.toContain('hub_canary_token')
  const shown = await (await server.ask(thing.path)).json()
  expect({ ...thing.object, config: undefined }).toEqual({ ...shown, config: undefined })
  const { node } = server.sim.world.instances.read(
    server.sim.world.deployments.read(server.sim.world.deployments.ordinalOf(id)!).instances[0]!,
  )
  expect(thing.related).toEqual([
    { id: `${id}-0`, kind: 'instance', relation: 'has' },
    { id: server.sim.world.nodes.read(node).id, kind: 'node', relation: 'runs on' },
  ])
  expect(thing.requests.map(({ operation }: Answer) => operation)).toEqual(['createLlmDeployment'])
  expect(thing.entries.map(({ kind }: Answer) => kind)).toContain('deployment.running')
  const { entries } = await server.read(`/_sim/ledger?subject=${id}`)
  expect(thing.ledger.map(({ microcents }: Answer) => microcents)).toEqual(
    entries.map(({ microcents }: Answer) => microcents).reverse(),
  )
  const { owners } = await server.read('/_sim/money')
  const { burn_microcents_per_hour, spent_microcents } = owners.find((owner: Answer) => owner.id === id)
  expect(thing.cost).toEqual({ burn_microcents_per_hour, spent_microcents })
  expect(burn_microcents_per_hour).toBeGreaterThan(0)
  expect((await inspect(server, 'h100-0')).cost).toBeNull()
  for (const { path } of thing.links) expect([path, (await server.ask(path)).status]).toEqual([path, 200])
})

test('a hosted instance says how large its storage is, also after its expansion', async () => {
  const server = await running({ fixtures: 'default' })
  const id = 'inst_HmSomZNCU5EAVUqwFpxpN9vc'
  const storage = async () =>
    (await inspect(server, id)).sentences.find((sentence: string) => sentence.startsWith('Its storage'))
  expect(await storage()).toBe('Its storage has 120 GB.')
  const headers = { 'content-type': 'application/json' }
  await server.ask(`/v1/hosted/${id}/expand_storage`, { method: 'POST', headers, body: '{"new_size_gb":200}' })
  await server.sim.clock.advance('10m')
  expect(await storage()).toBe('Its storage has 200 GB.')
})

test('each kind of id is known, by its relations one comes back to where one began', { tags: 'slow' }, async () => {
  const server = await running()
  const { sim } = server
  const { batches, files, rentals, nodes, store, ledger } = sim.world
  const [batch] = batches.list()
  const [token] = store.tokens.all()
  const rule = sim.faults.add({ on: 'listDeployments', fault: { kind: 'status', status: 503 } })
  await server.ask('/deploy/list')
  const ids: [string, string][] = [
    [batch!.id, 'batch'],
    [files.list()[0]!.id, 'file'],
    [nodes.read(0).id, 'node'],
    [token!.token_id, 'token'],
    [ledger.uid, 'account'],
    [rule.id, 'fault'],
    [String(sim.requests[0]!.seq), 'request'],
    ...[...rentals.entries()].map(([, { id, kind }]): [string, string] => [id, kind]),
    ...[...sim.world.instances.entries()].slice(0, 1).map(([, { id }]): [string, string] => [id, 'instance']),
  ]
  expect(new Set(ids.map(([, kind]) => kind)).size).toBeGreaterThan(7)
  for (const [id, kind] of ids) {
    const thing = await inspect(server, id)
    expect([id, thing.kind]).toEqual([id, kind])
    if (thing.path !== null) expect([id, thing.object]).not.toEqual([id, null])
    for (const related of thing.related) {
      const other = await inspect(server, related.id)
      const isMutual = kind === 'batch' ? other.kind === 'file' : ['instance', 'node'].includes(kind)
      if (isMutual && ['deployment', 'instance', 'node', 'file'].includes(other.kind))
        expect(other.related.map((back: Answer) => back.id)).toContain(thing.id)
    }
  }
  const fault = await inspect(server, rule.id)
  expect(fault.requests.map(({ path }: Answer) => path)).toEqual(['/deploy/list'])
  expect(fault.object).toMatchObject({ hits: 1 })
})

test('an entry leads to its cause and its effects, and an unknown id to the nearest', async () => {
  const server = await running({ fixtures: 'two-nodes', with: { deployments } })
  await server.command('/_sim/commands', { verb: 'zone.down', target: 'east-a' })
  const down = server.sim.journal.entries().find(({ kind }) => kind === 'zone.down')!
  const entry = await inspect(server, down.seq)
  const expected = { kind: 'entry', sentences: ['The zone east-a went down, and all of its nodes are lost.'] }
  expect(entry).toMatchObject(expected)
  const relations = new Set(entry.related.map(({ relation }: Answer) => relation))
  expect(relations).toEqual(new Set(['is about', 'is caused by', 'caused']))
  const unknown = await server.command('/_sim/things/h100-00', undefined, 'GET')
  expect([unknown.status, unknown.body.error]).toEqual([404, expect.stringContaining("Did you mean 'h100-0'?")])
  expect((await server.command('/_sim/things/99999', undefined, 'GET')).status).toBe(404)
})

test('the names of the fleet are what they are, and the stock of a GPU type has its cause', async () => {
  const server = await running({ fixtures: 'default' })
  await server.deploy({ hub: HUB })
  const kinds = async (...ids: string[]) =>
    Promise.all(ids.map(async id => ((await inspect(server, id)) as { kind: string }).kind))
  expect(await kinds('H100-80GB', 'east-a', 'west-spot')).toEqual(['gpu_type', 'zone', 'pool'])
  server.sim.cluster.stockOut('H100-80GB')
  const { sentences } = await inspect(server, 'H100-80GB')
  expect(sentences).toContain('It is out of stock, so that no GPU of it is assigned.')
  const { body } = await server.command('/_sim/explain/H100-80GB', undefined, 'GET')
  expect(body.chain.map(({ kind }: Answer) => kind)).toEqual(['pool.stockedOut'])
})

test('the things of a kind are a table, read from a copy of the world', { tags: 'slow' }, async () => {
  const server = await running({ fixtures: 'default' })
  await server.deploy({ hub: HUB })
  const before = [server.sim.digest, server.sim.world.journal.last, server.sim.requests.length]
  const table = async (query: string) => await server.read(`/_sim/things?${query}`)
  for (const [kind, column, path] of [
    ...([
      ['deployment', 'status', '/deploy/list'],
      ['batch', 'completion_window', '/v1/batches?limit=100'],
    ] as const),
    ...([
      ['file', 'filename', '/v1/files'],
      ['node', 'state', null],
      ['token', 'name', '/v1/api-tokens'],
    ] as const),
    ...([
      ['instance', 'deployment', null],
      ['hosted', 'region', '/v1/hosted'],
      ['voice', 'description', '/v1/voices'],
      ['ssh_key', 'key', '/v1/ssh_keys'],
    ] as const),
  ]) {
    const found = await table(`kind=${kind}`)
    const expected = [kind, path, false, expect.arrayContaining([column])]
    expect([kind, found.path, found.refused, found.columns]).toEqual(expected)
    expect(found.rows.length).toBeGreaterThan(0)
    expect(found.rows.every((row: Answer) => row.cells.length === found.columns.length)).toBe(true)
    await inspect(server, found.rows[0].id)
  }
  const filtered = await table('kind=deployment&filter=ACME/NEW&limit=1')
  expect([filtered.matched, filtered.rows[0].cells]).toEqual([1, expect.arrayContaining(['acme/new'])])
  expect(filtered.total).toBe((await table('kind=deployment')).matched)
  const instances = await table('kind=instance')
  const gpus = instances.rows.map(({ cells }: Answer) => Number(cells[instances.columns.indexOf('gpus')]))
  expect(gpus).toEqual(
    Array.from(server.sim.world.instances.entries(), ([, { deployment, node }]) =>
      node < 0 ? 0 : server.sim.world.deployments.read(deployment).numGpus,
    ),
  )
  expect(JSON.stringify(await table('kind=token'))).not.toContain('sim_default_token')
  expect([server.sim.digest, server.sim.world.journal.last, server.sim.requests.length]).toEqual(before)
  expect((await server.command('/_sim/things?kind=planet', undefined, 'GET')).status).toBe(422)
})

test('a list of more batches than a page is read whole', { tags: 'slow' }, async () => {
  const batches = Array.from({ length: 150 }, (_, index) => ({
    ...{ id: `batch_${index}`, input_file_id: 'file_EhUgTjuR3b2t3Ns3kmwtMtfm', status: 'completed' as const },
    created_at: 1_767_000_000 + index,
  }))
  const server = await running({ fixtures: 'default', with: { batches } as never })
  const { body } = await server.command('/_sim/things?kind=batch&limit=5000', undefined, 'GET')
  expect(body.matched).toBeGreaterThanOrEqual(150)
})
