/** Containers, from creation to deletion by a client. */
import { describe, expect, test } from 'vitest'
import { loadProfile } from '../../src/data/profiles/load.ts'
import { issues, refused, SECOND, service } from './service-world.ts'

const EPOCH = 1_767_225_600
const SHOWN = { name: 'trial', gpu_config: '2xL4-24GB', container_image: 'registry.example/cuda-dev:12.8' }
const CRATE = { ...SHOWN, cloud_init_user_data: '#cloud-config\n' }
const BROKE = { account: { funds_cents: 0, topup: { amount: 0, threshold: 0, enabled: false } } }

function empty(patch?: Parameters<typeof service>[1]) {
  const one = service('empty', patch)
  const pass = (seconds: number) => one.world.runTo(one.world.clock.now + seconds * SECOND)
  return { ...one, pass }
}

describe('a container', () => {
  test('passes every state from creating to deleted', async () => {
    const { client, pass } = empty()
    const { container_id } = await client.createContainer(CRATE)
    expect(container_id).toMatch(/^container_[A-Za-z0-9]{24}$/)
    const shown = () => client.getContainer({ container_id })
    expect(await shown()).toEqual({
      id: container_id,
      ...SHOWN,
      state: 'creating',
      start_ts: EPOCH,
      state_ts: EPOCH,
      stop_ts: null,
      ip: null,
      price_per_hour: 0.6,
      fail_reason: null,
    })
    pass(1)
    expect((await shown()).state).toBe('creating')
    pass(60)
    expect(await shown()).toMatchObject({ state: 'starting', ip: null })
    pass(1800)
    const running = await shown()
    expect(running).toMatchObject({ state: 'running', start_ts: running.state_ts, stop_ts: null })
    expect(running.ip).toMatch(/^198\.1[89]\.\d{1,3}\.\d{1,3}$/)
    expect(running.state_ts).toBeGreaterThan(EPOCH + 61)
    expect(await client.renameContainer({ container_id, name: 'kept' })).toEqual({ container_id })
    expect(await shown()).toEqual({ ...running, name: 'kept' })
    expect(await client.deleteContainer({ container_id })).toEqual({ container_id })
    expect(await shown()).toMatchObject({ state: 'shutting_down', state_ts: EPOCH + 1861, ip: running.ip })
    const expected = [400, `container ${container_id} is being deleted already`]
    expect(await refused(client.deleteContainer({ container_id }))).toEqual(expected)
    pass(30)
    const ended = { state: 'deleted', state_ts: EPOCH + 1891, stop_ts: EPOCH + 1891, ip: null }
    expect(await shown()).toMatchObject(ended)
    expect(await refused(client.deleteContainer({ container_id }))).toEqual([
      400,
      `container ${container_id} is deleted`,
    ])
    expect((await refused(client.renameContainer({ container_id, name: 'x' })))[0]).toBe(400)
    const withOthers = client.renameContainer({ container_id, name: 'x', state: 'running' } as never)
    expect(await issues(withOthers)).toEqual(['body/state extra_forbidden'])
    const { id_to_duration } = await client.getRentUsage({ from: EPOCH })
    const { start_ts, stop_ts } = await shown()
    // Each of the two times is a whole second of its own.
    expect(Math.abs(stop_ts! - start_ts - id_to_duration[container_id]!)).toBeLessThanOrEqual(1)
    expect(id_to_duration[container_id]).toBeGreaterThan(60)
    const { months } = await client.getUsage({ from: 'current' })
    expect(months[0]!.items.map(({ model }) => [model.task, model.model_name])).toContainEqual(['container', 'kept'])
  })

  test('is listed by the filter state', async () => {
    const { client, pass } = empty()
    const make = async (name: string, image = CRATE.container_image) =>
      (await client.createContainer({ ...CRATE, name, gpu_config: '1xL4-24GB', container_image: image })).container_id
    const [a, b, c] = [await make('a'), await make('b', 'No Such'), await make('c')]
    pass(90)
    await client.deleteContainer({ container_id: c })
    const listed = async (state?: 'active' | 'inactive') =>
      (await client.listContainers(state ? { state } : {})).map(one => one.id).sort()
    expect(await listed('active')).toEqual([a])
    expect(await listed('inactive')).toEqual([b, c].sort())
    expect(await listed()).toEqual([a])
    const failed = await client.getContainer({ container_id: b })
    expect(failed).toMatchObject({ state: 'failed', ip: null, stop_ts: failed.state_ts })
    expect(failed.fail_reason).toContain('No Such')
    pass(60)
    await client.deleteContainer({ container_id: b })
    const deleted = { ...failed, state: 'deleted', state_ts: EPOCH + 150 }
    expect(await client.getContainer({ container_id: b })).toEqual(deleted)
    expect(await issues(client.listContainers({ state: 'asleep' as 'active' }))).toEqual(['query/state literal_error'])
  })

  test.each([
    ['gpu_config', '', 'string_too_short'],
    ['gpu_config', 1, 'string_type'],
    ['gpu_config', undefined, 'missing'],
    ['name', '', 'string_too_short'],
    ['name', '🦙'.repeat(65), 'string_too_long'],
    ['container_image', '', 'string_too_short'],
    ['container_image', undefined, 'missing'],
    ['cloud_init_user_data', 'x'.repeat(32_001), 'string_too_long'],
    ['cloud_init_user_data', '', 'string_too_short'],
    ['cloud_init_user_data', undefined, 'missing'],
  ])('an invalid %s is 422: %#', async (field, value, type) => {
    const { client } = empty()
    const asked = client.createContainer({ ...CRATE, [field]: value } as typeof CRATE)
    expect(await issues(asked)).toEqual([`body/${field} ${type}`])
  })

  test('is created with values at the bounds', async () => {
    const { client } = empty({ account: { gpu_limits: { 'H100-80GB': 8 } } })
    const name = '🦙'.repeat(64)
    const asked = { ...CRATE, name, gpu_config: '8xH100-80GB', cloud_init_user_data: 'x'.repeat(32_000) }
    expect(await client.createContainer(asked)).toEqual({ container_id: expect.any(String) })
    expect((await client.listContainers({}))[0]!.name).toBe(name)
  })

  test('is refused in the order 402, 400, 403', async () => {
    const make = (patch: Parameters<typeof service>[1], gpu_config: string) =>
      refused(empty(patch).client.createContainer({ ...CRATE, gpu_config }))
    const limited = { account: { gpu_limits: { 'L4-24GB': 1 } } }
    expect(await make(BROKE, '1xother')).toEqual([402, expect.stringContaining('no funds')])
    for (const gpu_config of ['1xother', '0xL4-24GB', '3xL4-24GB', '9xL4-24GB', '1xL4', '1xB300-270GB', 'cheap'])
      expect(await make(limited, gpu_config)).toEqual([400, 'Invalid gpu_config'])
    expect(await make(limited, '2xL4-24GB')).toEqual([403, expect.stringContaining('this asks for 2 L4-24GB, 0 are')])
  })

  test('is refused with 429 when the account has as many as the profile allows', async () => {
    const { client, world } = service('empty', undefined, {
      profile: loadProfile({ limits: { containers_at_once: 2 } }),
    })
    const make = () => client.createContainer({ ...CRATE, gpu_config: '1xL4-24GB' })
    await make()
    const { container_id } = await make()
    expect(await refused(make())).toEqual([429, expect.stringContaining('too many containers: 2 exist')])
    expect(await client.listContainers({})).toHaveLength(2)
    await client.deleteContainer({ container_id })
    world.runTo(world.clock.now)
    expect(await make()).toEqual({ container_id: expect.any(String) })
  })

  test('is 404 when its id is unknown', async () => {
    const { client, world } = empty({
      hosted: [{ instance_id: 'box', created_at: 0, name: 'x', plan_id: 'small' }],
    })
    expect(world.rentals.findById('box')).toBeDefined()
    for (const container_id of ['none', 'box', '__proto__']) {
      expect((await refused(client.getContainer({ container_id })))[0]).toBe(404)
      expect((await refused(client.renameContainer({ container_id, name: 'x' })))[0]).toBe(404)
      expect((await refused(client.deleteContainer({ container_id })))[0]).toBe(404)
    }
  })

  test('shares the GPU limit with deployments', async () => {
    const { client, pass } = empty({ account: { gpu_limits: { 'H100-80GB': 4 } } })
    const deploy = (num_gpus: number) =>
      client.createLlmDeployment({ model_name: 'chat', gpu: 'H100-80GB', num_gpus, hub: { repo: 'acme/chat-8b' } })
    const { container_id } = await client.createContainer({ ...CRATE, gpu_config: '2xH100-80GB' })
    expect((await refused(deploy(3)))[0]).toBe(403)
    await deploy(2)
    expect((await refused(client.createContainer({ ...CRATE, gpu_config: '1xH100-80GB' })))[0]).toBe(403)
    // A hosted instance has no GPU.
    expect(await client.createHosted({ name: 'bench', plan_id: 'small' })).toBeDefined()
    await client.deleteContainer({ container_id })
    pass(0)
    expect(await client.createContainer({ ...CRATE, gpu_config: '2xH100-80GB' })).toBeDefined()
  })
})
