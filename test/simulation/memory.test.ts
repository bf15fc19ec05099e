import { describe, expect, test } from 'vitest'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'

const repository = (repo: string, billions: number, bytes: number, quantization = 'bf16') => ({
  repo,
  bytes: bytes * 1e9,
  parameters_b: billions,
  quantization,
  context: 131_072,
})

/** A fleet with two nodes of eight H100, and repositories of the sizes that real ones have. */
function world() {
  const sim = createSimulator({
    fixtures: 'two-nodes',
    check: true,
    with: {
      hub: {
        repositories: [
          repository('acme/dense-70b', 70.6, 141.1),
          repository('acme/dense-32b', 32.8, 65.5),
          repository('acme/dense-27b', 27.4, 54.9),
          repository('acme/mixture-120b', 117, 65.3, 'mxfp4'),
        ],
      },
    },
  })
  const send = async (method: string, path: string, body?: object) => {
    const response = await sendTo(sim, `${method} ${path}`, body)
    return await response.json()
  }
  /** Deploys a repository and returns its record as soon as it runs or failed. */
  const settle = async (repo: string, num_gpus: number, max_batch_size = 96) => {
    const body = { model_name: 'acme/try', gpu: 'H100-80GB', num_gpus, max_batch_size, hub: { repo } }
    const { deploy_id } = await send('POST', '/deploy/llm', body)
    const read = () => send('GET', `/deploy/${deploy_id}`)
    await sim.clock.until(async () => /running|failed/.test((await read()).status), { within: '3h' })
    return read()
  }
  return { sim, settle }
}

describe('memory', () => {
  test.each([
    ['acme/dense-70b', 2],
    ['acme/dense-32b', 1],
    ['acme/dense-27b', 1],
    ['acme/mixture-120b', 1],
  ])('holds %s on %i × 80 GB with any max_batch_size', async (repo, gpus) => {
    expect(await world().settle(repo, gpus, 256)).toMatchObject({ status: 'running', fail_reason: '' })
  })

  test('does not hold 70B in bf16 on one 80 GB, whatever max_batch_size is', async () => {
    const failed = await world().settle('acme/dense-70b', 1, 1)
    expect(failed).toMatchObject({ status: 'failed', fail_reason: expect.stringContaining('weights 141.1 GB') })
    expect(failed.fail_reason).not.toContain('max_batch_size')
  })

  test('is missed when the engine allocates the weights, before it loads them', async () => {
    const { sim, settle } = world()
    await settle('acme/dense-70b', 1)
    const at = (kind: string) => sim.journal.entries().find(entry => entry.kind === kind)!.time
    expect(at('deployment.failed') - at('instance.loading')).toBe(sim.world.profile.timings.loadFixed)
  })

  test('that the weights leave bounds how many sequences run at once', async () => {
    const speedOf = async (num_gpus: number) => {
      const { sim, settle } = world()
      const { deploy_id } = await settle('acme/dense-70b', num_gpus, 256)
      const { deployments } = sim.world
      const ordinal = deployments.ordinalOf(deploy_id)!
      deployments.scaling.setLoad(ordinal, { kind: 'constant', rps: 0.1, prompt_tokens: 2000, output_tokens: 400 })
      return deployments.read(ordinal).load!.speed
    }
    const [narrow, wide] = [await speedOf(2), await speedOf(8)]
    expect(narrow.places).toBeLessThan(30)
    expect(wide.places).toBe(256)
  })
})
