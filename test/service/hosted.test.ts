/** Hosted instances, from creation to deletion by a client. */
import { describe, expect, test } from 'vitest'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { loadProfile } from '../../src/data/profiles/load.ts'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { issues, refused, SECOND, service } from './service-world.ts'

const EPOCH = 1_767_225_600
const BOX = { name: 'bench', plan_id: 'medium' }
const BROKE = { account: { funds_cents: 0, topup: { amount: 0, threshold: 0, enabled: false } } }
const PLAN = {
  id: 'pair',
  vcpus: 2,
  memory_gb: 1.5,
  disk_gb: 30,
  cents_per_hour: 7.5,
  regions: ['a', 'b'],
  capacity: 1,
}

function empty(patch?: Parameters<typeof service>[1], options?: Parameters<typeof service>[2]) {
  const one = service('empty', patch, options)
  const pass = (seconds: number) => one.world.runTo(one.world.clock.now + seconds * SECOND)
  return { ...one, pass }
}

describe('a hosted instance', () => {
  test('passes every state from creating over stop and start to deleted', async () => {
    const { client, pass, world } = empty()
    const { instance_id } = await client.createHosted(BOX)
    expect(instance_id).toMatch(/^inst_[A-Za-z0-9]{24}$/)
    const shown = () => client.getHosted({ instance_id })
    expect(await shown()).toEqual({
      id: instance_id,
      ...BOX,
      state: 'creating',
      start_ts: EPOCH,
      state_ts: EPOCH,
      stop_ts: null,
      price_per_hour: 0.12,
      region: 'us-central',
      last_backup_ts: null,
      ssh_port: 22,
      fail_reason: null,
      public_ip: null,
      version: null,
      agent_type: 'standard',
      ssh_user: 'ubuntu',
    })
    pass(900)
    const running = await shown()
    expect(running).toMatchObject({ state: 'running', stop_ts: null })
    expect(running.start_ts).toBe(running.state_ts)
    expect(running.public_ip).toMatch(/^198\.1[89]\.\d{1,3}\.\d{1,3}$/)
    expect((await refused(client.startHosted({ instance_id })))[0]).toBe(400)
    await client.expandHostedStorage({ instance_id, new_size_gb: 200 })
    const storage = () => world.rentals.findById(instance_id)!.storageGb
    expect(storage()).toBe(80)
    await client.stopHosted({ instance_id })
    expect((await shown()).state).toBe('stopping')
    const expected = [400, expect.stringContaining('stopping already')]
    expect(await refused(client.stopHosted({ instance_id }))).toEqual(expected)
    pass(300)
    const stopped = await shown()
    expect([stopped.state, storage()]).toEqual(['stopped', 200])
    expect(stopped).toMatchObject({ stop_ts: EPOCH + 930, state_ts: EPOCH + 930, public_ip: null })
    await client.startHosted({ instance_id })
    expect(await shown()).toMatchObject({ state: 'starting', stop_ts: null, start_ts: running.start_ts })
    pass(900)
    expect(await shown()).toMatchObject({ state: 'running', public_ip: running.public_ip })
    await client.deleteHosted({ instance_id })
    expect((await refused(client.deleteHosted({ instance_id })))[0]).toBe(400)
    pass(30)
    const deleted = await shown()
    expect(deleted.state).toBe('deleted')
    expect(await client.listHosted()).toEqual([])
    const gone = [
      client.deleteHosted({ instance_id }),
      client.startHosted({ instance_id }),
      client.stopHosted({ instance_id }),
      client.renameHosted({ instance_id, name: 'x' }),
      client.expandHostedStorage({ instance_id, new_size_gb: 300 }),
    ]
    for (const call of gone) expect((await refused(call))[0]).toBe(400)
  })

  test('costs its price per hour in rent, usage and report, and nothing while it is stopped', async () => {
    const profile = loadProfile({
      timings: { hosted_boot: '60s', rental_placement_delay: '0s', rental_shutdown: '0s' },
    })
    const { client, pass, world } = empty({ plans: [PLAN] }, { profile })
    const { balance } = world.ledger
    const { instance_id } = await client.createHosted({ name: 'bench', plan_id: 'pair', region: 'b' })
    pass(60 + 3600)
    await client.stopHosted({ instance_id })
    pass(7200)
    await client.startHosted({ instance_id })
    pass(60 + 1800)
    const cost = 7.5e6 * 1.5
    expect(balance - world.ledger.balance).toBe(cost)
    expect((await client.getRentUsage({ from: EPOCH })).id_to_duration).toEqual({ [instance_id]: 5400 })
    const { months } = await client.getUsage({ from: 'current' })
    expect(months[0]!.items).toEqual([
      expect.objectContaining({
        model: expect.objectContaining({ task: 'hosted-instance', model_name: 'bench', plan_id: 'pair' }),
        units: 5400,
        cost: 11,
        pricing_type: 'uptime',
      }),
    ])
  })

  test('takes a region, an agent type, a version and SSH keys', async () => {
    const { client } = empty({ ssh_keys: loadFixture('default').ssh_keys.map(key => ({ ...key })) })
    const [key] = await client.listSshKeys()
    const about = { region: 'eu-north', agent_type: 'builder', version: '2.1.0' }
    const made = await client.createHosted({ ...BOX, ...about, ssh_key_ids: [key!.id] })
    expect(await client.getHosted(made)).toMatchObject(about)
    const expected = [404, 'no SSH key none']
    expect(await refused(client.createHosted({ ...BOX, ssh_key_ids: [key!.id, 'none'] }))).toEqual(expected)
    await client.deleteSshKey({ ssh_key_id: key!.id })
    expect((await client.getHosted(made)).state).toBe('creating')
    expect((await refused(client.createHosted({ ...BOX, ssh_key_ids: [key!.id] })))[0]).toBe(404)
  })

  test('waits for a machine of its region, and fails when none comes', async () => {
    const { client, pass } = empty({ plans: [PLAN] })
    const make = (region?: string) => client.createHosted({ name: 'x', plan_id: 'pair', ...(region && { region }) })
    const first = await make()
    pass(60)
    const second = await make()
    const elsewhere = await make('b')
    pass(720)
    expect((await client.getHosted(first)).state).toBe('running')
    expect((await client.getHosted(elsewhere)).state).toBe('running')
    const expected = { state: 'failed', fail_reason: 'the region a had no machine for the plan pair for 10m' }
    expect(await client.getHosted(second)).toMatchObject(expected)
  })

  test.each([
    ['name', undefined, 'missing'],
    ['name', '', 'string_too_short'],
    ['plan_id', undefined, 'missing'],
    ['plan_id', 7, 'string_type'],
    ['agent_type', '', 'string_too_short'],
    ['version', 'x'.repeat(65), 'string_too_long'],
    ['ssh_key_ids', 'key', 'list_type'],
    ['ssh_key_ids', Array(101).fill('key'), 'too_long'],
  ])('an invalid %s is 422: %#', async (field, value, type) => {
    const { client } = empty()
    expect(await issues(client.createHosted({ ...BOX, [field]: value } as typeof BOX))).toEqual([
      `body/${field} ${type}`,
    ])
  })

  test('is refused in the order 402, 404, 400, 404, 429', async () => {
    const profile = loadProfile({ limits: { hosted_at_once: 1 } })
    const { client, pass } = empty({}, { profile })
    const make = (about: object) => refused(client.createHosted({ ...BOX, ...about }))
    const wrong = { plan_id: 'medum', region: 'mars', ssh_key_ids: ['none'] }
    const { instance_id } = await client.createHosted(BOX)
    expect((await refused(empty(BROKE).client.createHosted({ ...BOX, ...wrong })))[0]).toBe(402)
    expect(await make(wrong)).toEqual([404, 'no plan medum; plans are small, medium, large, xlarge'])
    const expected = [400, 'the plan small has no region mars; its regions are us-central, eu-north']
    expect(await make({ ...wrong, plan_id: 'small' })).toEqual(expected)
    expect((await make({ ssh_key_ids: ['none'] }))[0]).toBe(404)
    expect(await make({})).toEqual([429, expect.stringContaining('too many hosted instances: 1 exist')])
    await client.stopHosted({ instance_id })
    // A stopped one keeps its storage, so it counts.
    expect((await make({}))[0]).toBe(429)
    await client.deleteHosted({ instance_id })
    pass(0)
    expect(await client.createHosted(BOX)).toBeDefined()
  })

  test('starts only with funds', async () => {
    const seed = { plan_id: 'small', created_at: 0 }
    const hosted = [
      { ...seed, instance_id: 'box', name: 'box', state: 'stopped' as const },
      { ...seed, instance_id: 'bad', name: 'bad', state: 'failed' as const },
    ]
    const start = (instance_id: string, account: object) =>
      refused(empty({ hosted, account }).client.startHosted({ instance_id }))
    expect((await start('none', {}))[0]).toBe(404)
    expect(await start('bad', {})).toEqual([400, 'hosted instance bad is failed, not stopped'])
    expect((await start('box', BROKE.account))[0]).toBe(402)
  })

  test('starts after a failure when the profile allows it', async () => {
    const profile = loadProfile({ policies: { failed_may_start: true } })
    const { client, world } = service('default', undefined, { profile })
    const instance_id = 'inst_Ba3ir72S8nPDgfv4vncKcgCJ'
    expect(await client.startHosted({ instance_id })).toEqual({ instance_id })
    await loadTokenizer()
    world.runTo(900 * SECOND)
    expect(await client.getHosted({ instance_id })).toMatchObject({ state: 'running', fail_reason: null })
  })

  test('has the state of the fixture in the default world', async () => {
    const { client } = service()
    const states = (await client.listHosted()).map(({ name, state, plan_id }) => [name, state, plan_id])
    expect(states).toEqual([
      ['nightly-evaluation', 'stopped', 'large'],
      ['annotation-workbench', 'running', 'medium'],
      ['driver-upgrade-trial', 'failed', 'small'],
    ])
  })
})

describe('a hosted instance of a fixture', () => {
  const seed = { instance_id: 'inst_1', name: 'box', plan_id: 'small', created_at: 0 }
  test.each([
    [{ plan_id: 'smal' }, "hosted: $[0].plan_id: expected a plan of plans.json, got 'smal'. Did you mean 'small'?"],
    [
      { region: 'eu-nort' },
      "$[0].region: expected a region of the plan small, got 'eu-nort'. Did you mean 'eu-north'?",
    ],
    [{ plan_id: 'large' as const, storage_gb: 100 }, 'expected at least 160, the disk_gb of the plan large, got 100.'],
    [{ last_backup_ts: EPOCH + 1 }, "expected a time not later than the world's epoch"],
    [{ gpu: 'L4-24GB' }, '$[0].gpu: unknown field. Remove it.'],
  ])('is refused with %j', (about, text) => {
    const load = () => loadFixture('empty', { patch: { hosted: [{ ...seed, ...about } as typeof seed] } })
    expect(load).toThrow(text)
  })

  test('two plans of one id are refused', () => {
    const load = () => loadFixture('empty', { patch: { plans: [{ ...PLAN, id: 'small' }] } })
    expect(load).toThrow("'small' is already the value of another record")
  })
})
