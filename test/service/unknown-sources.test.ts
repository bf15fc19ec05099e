import { describe, expect, test } from 'vitest'
import { createSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'

/** A world with two nodes, and requests that read the last record of what they created. */
function world(options: SimulatorOptions = {}) {
  const sim = createSimulator({ fixtures: 'two-nodes', profile: 'quick', check: true, ...options })
  const send = async (method: string, path: string, body?: object) => {
    const response = await sendTo(sim, `${method} ${path}`, body)
    expect({ path, status: response.status }).toEqual({ path, status: 200 })
    return await response.json()
  }
  const settle = async ({ deploy_id }: { deploy_id: string }) => {
    const read = () => send('GET', `/deploy/${deploy_id}`)
    await sim.clock.until(async () => /running|failed/.test((await read()).status), { within: '3h' })
    const { status, fail_reason } = await read()
    return { status, fail_reason }
  }
  const deploy = async (repo: string) =>
    settle(await send('POST', '/deploy/llm', { model_name: 'acme/try', gpu: 'H100-80GB', hub: { repo } }))
  const adapt = async (modelhub_url: string, base_model = 'acme/base') =>
    settle(
      await send('POST', '/v1/lora/create', {
        base_model,
        lora_name: 'tone',
        source: { type: 'modelhub', modelhub_url },
        private: true,
      }),
    )
  return { sim, send, settle, deploy, adapt }
}

describe('a repository that the fixture does not list', () => {
  test('does not exist: the deployment fails with that reason', async () => {
    const reason = 'hub repository someone/nothing-8b not found (404)'
    expect(await world().deploy('someone/nothing-8b')).toEqual({ status: 'failed', fail_reason: reason })
    expect((await world().deploy('acme/nothing')).status).toBe('failed')
  })

  test('exists when an owner of the fixture has it and its name has a size', async () => {
    expect((await world().deploy('acme/fresh-13b')).status).toBe('running')
  })

  test('exists when the profile or the fixture says so', async () => {
    const profile = { extends: 'quick', policies: { unknown_repositories: 'estimate' as const } }
    expect((await world({ profile }).deploy('someone/nothing')).status).toBe('running')
    expect((await world({ with: { hub: { policy: 'estimate' } } }).deploy('someone/nothing')).status).toBe('running')
  })
})

describe('an adapter', () => {
  const repository = (about: object) => ({ repo: 'acme/tone', bytes: 2e8, parameters_b: 0.1, ...about })
  const onBase = async (repositories: ReturnType<typeof repository>[] = []) => {
    const it = world({ with: { hub: { repositories } } })
    const { send, settle } = it
    const base = { model_name: 'acme/base', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
    expect((await settle(await send('POST', '/deploy/llm', base))).status).toBe('running')
    return it
  }

  test.each([
    ['a source that is not an address', 'not an address', [], /is not an address/],
    ['a source that is missing', 'https://hub.example/elsewhere/tone', [], /not found \(404\)/],
    [
      'a source that its own account does not have',
      'https://hub.example/acme/none',
      [],
      /acme\/none not found \(404\)/,
    ],
    ['a gated source', 'https://hub.example/acme/tone', [repository({ gated: true })], /is gated .*\(401\)/],
    ['a source that is not an adapter', 'https://hub.example/acme/tone', [repository({})], /is not an adapter/],
    [
      'a source for another base',
      'https://hub.example/acme/tone',
      [repository({ adapter_of: 'acme/chat-70b' })],
      /trained for acme\/chat-70b, not for acme\/base/,
    ],
  ])('fails when it has %s', async (_, url, repositories, reason) => {
    const { adapt } = await onBase(repositories)
    expect(await adapt(url)).toEqual({ status: 'failed', fail_reason: expect.stringMatching(reason) })
  })

  test('runs when it was trained for the weights of its base', async () => {
    const { adapt } = await onBase([repository({ adapter_of: 'acme/chat-8b' })])
    expect((await adapt('https://hub.example/acme/tone')).status).toBe('running')
  })

  test('runs from a source of the account that the fixture does not have when the policy is estimate', async () => {
    const profile = { extends: 'quick', policies: { unknown_repositories: 'estimate' as const } }
    const { send, adapt, settle } = world({ profile })
    const base = { model_name: 'acme/base', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
    await settle(await send('POST', '/deploy/llm', base))
    expect((await adapt('https://hub.example/acme/none')).status).toBe('running')
  })

  test('is tried again while the hub is down, and fails after the last retry', async () => {
    const { sim, adapt } = await onBase()
    sim.cluster.hub.down()
    const failed = { status: 'failed', fail_reason: 'the last of 4 downloads was lost: the hub did not answer' }
    expect(await adapt('https://hub.example/acme/tone-8b')).toEqual(failed)
    const { sim: other, adapt: retry } = await onBase()
    other.cluster.hub.down()
    other.cluster.hub.up({ at: '5s' })
    expect((await retry('https://hub.example/acme/tone-8b')).status).toBe('running')
  })
})

describe('a container image', () => {
  const run = async (container_image: string, options: SimulatorOptions = {}) => {
    const { sim, send, settle } = world(options)
    const deployed = await send('POST', '/deploy/llm', {
      ...{ model_name: 'acme/try', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' }, container_image },
    })
    const container = { name: 'try', gpu_config: '1xH100-80GB', container_image, cloud_init_user_data: '#\n' }
    const { container_id } = await send('POST', '/v1/containers', container)
    const { status, fail_reason } = await settle(deployed)
    await sim.clock.advance('10m')
    const { state, fail_reason: reason } = await send('GET', `/v1/containers/${container_id}`)
    return [status, fail_reason, state, reason]
  }
  const hub = { images: ['registry.example/serve:1'], repositories: [] }
  const running = ['running', '', 'running', null]

  test('that the fixture does not list does not exist', async () => {
    const reason = 'image pull failed: "registry.example/serve:2" does not exist'
    const failed = ['failed', reason, 'failed', reason]
    expect(await run('registry.example/serve:2', { with: { hub } })).toEqual(failed)
    expect((await run('elsewhere.example/serve:1'))[0]).toBe('failed')
  })

  test('that the fixture lists runs, and every image with the policy accept', async () => {
    expect(await run('registry.example/serve:1', { with: { hub } })).toEqual(running)
    expect(await run('registry.example/serve:2')).toEqual(running)
    const profile = { extends: 'quick', policies: { unknown_images: 'accept' as const } }
    expect(await run('elsewhere.example/serve:1', { profile })).toEqual(running)
  })
})
