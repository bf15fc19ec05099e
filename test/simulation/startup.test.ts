import { describe, expect, test } from 'vitest'
import { loadProfile } from '../../src/data/profiles/load.ts'
import {
  type Compilation,
  hostFactor,
  readTime,
  warmUpTime,
} from '../../src/simulation/deployments/instance-startup.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { passUntil, spec, stage } from './small-world.ts'

const { timings } = loadProfile()
const read = (billions: number, bytes: number, gpus = 1, isInMemory = false) =>
  readTime(timings, billions * 1e9 * bytes, gpus, isInMemory) / 1e6
const warmUp = (layers: number, compilation: Compilation) => warmUpTime(timings.warmUp, layers, compilation) / 1e6
const { median, trace, compile, cached, graphs } = timings.warmUp
const layers = (count: number, ...parts: number[]) => (count * parts.reduce((sum, part) => sum + part, 0)) / 1e6
const fixed = timings.loadFixed / 1e6

describe('a start takes within 15 % of the published time', () => {
  test.each([
    ['8B from NVMe to an H100 (ServerlessLLM)', 4.4, read(8, 2)],
    ['32B from NVMe', 20.6, read(32, 2)],
    ['32B from the page cache', 12.5, read(32, 2, 1, true)],
    ['8B from a network disk (Run:ai)', 48, readTime({ ...timings, loadRate: 330e6 }, 16e9, 1, false) / 1e6],
    [
      '8B on an L40S, nothing cached, without weights (tensorfuse)',
      200,
      hostFactor(timings, 'L40S-48GB', 'compile') * (fixed + warmUp(32, 'compile')),
    ],
    [
      '8B on an L40S, all cached (tensorfuse)',
      82,
      hostFactor(timings, 'L40S-48GB', 'cached') * (fixed + warmUp(32, 'cached')) + read(8, 2, 1, true),
    ],
    ['70B: load, graphs and warm-up (spheron)', 82.5, read(70, 2, 2, true) + median / 1e6 + layers(80, graphs)],
    [
      '70B at fp8 on 8 GPUs: read, trace, compile and graphs (vllm issue 19824)',
      155,
      read(70, 1, 8, true) + layers(80, trace, compile, graphs),
    ],
    ['1.7B compiled: init of the engine (vllm issue 20264)', 34, warmUp(28, 'cached')],
    ['8B compiled: trace and load (vllm pull request 16848)', 9.2, layers(32, trace, cached)],
    [
      '30B-A3B on 2 B200, weights cached, to ready (Vultr)',
      70,
      1 + read(30.5, 2, 2, true) + fixed + warmUp(48, 'cached'),
    ],
  ])('%s: %d s', (_, published, model) => {
    expect(Math.abs(model / published - 1)).toBeLessThan(0.15)
  })
})

/** Starts a deployment of 8B, and returns how many seconds its instance loaded and warmed up. */
function start(sim: Simulator, name: string, extra_args: string[] = []) {
  const chat = sim.world.deployments.createLlm(spec({ model_name: name, extra_args }))
  return { chat, ...lastStart(sim, chat.deploy_id) }
}

/** Waits for the next instance that becomes ready, and returns how long its deployment took. */
function lastStart(sim: Simulator, id: string) {
  const entries = () => sim.journal.entries().filter(entry => entry.subject.startsWith(id))
  const count = entries().length
  passUntil(sim, () =>
    entries()
      .slice(count)
      .some(({ kind }) => kind === 'instance.ready'),
  )
  const at = (kind: string) => entries().findLast(entry => entry.kind === kind)!.time / 1e6
  return {
    loading: Math.round((at('instance.warming') - at('instance.loading')) * 10) / 10,
    warming: Math.round((at('instance.ready') - at('instance.warming')) * 10) / 10,
  }
}

const CERTAIN = { timings: { warm_up: { sigma: 0 } } }

describe('a node remembers', () => {
  test('the weights in its page cache until it boots again', () => {
    const sim = stage([{}], {}, { profile: CERTAIN })
    const first = start(sim, 'acme/one')
    expect(first).toMatchObject({ loading: 16.7, warming: 63 })
    const second = start(sim, 'acme/two')
    expect(second).toMatchObject({ loading: 15.1, warming: 63 })
    second.chat.delete()
    sim.cluster.zone('zone-a').down()
    sim.cluster.zone('zone-a').up()
    expect(lastStart(sim, first.chat.deploy_id).loading).toBe(16.7)
  })

  test('nothing in its page cache that does not fit', () => {
    const sim = stage([{}], {}, { profile: { timings: { ...CERTAIN.timings, page_cache_bytes: '15GB' } } })
    start(sim, 'acme/one')
    expect(start(sim, 'acme/two').loading).toBe(16.7)
  })

  test('what engines compiled only on a volume, for one model and its arguments', () => {
    const sim = stage([{}], {}, { profile: { ...CERTAIN, policies: { compile_cache: 'volume' } } })
    expect(start(sim, 'acme/one').warming).toBe(63)
    expect(start(sim, 'acme/two').warming).toBe(38.4)
    expect(start(sim, 'acme/three', ['--max-model-len', '4096']).warming).toBe(63)
  })
})

test.each([
  [['--enforce-eager'], 13.4],
  [['--enforce_eager'], 13.4],
  [['--enforce-eager', '--no-enforce-eager'], 63],
])('an engine with %j compiles and captures nothing unless it is unset: %d s', (args, warming) => {
  expect(start(stage([{}], {}, { profile: CERTAIN }), 'acme/one', args).warming).toBe(warming)
})

test('one compilation in a hundred takes ten times as long in the profile rough only', () => {
  expect(loadProfile('rough').timings.slowCompileShare).toBe(0.01)
  expect(timings.slowCompileShare).toBe(0)
  const sim = stage([{}], {}, { profile: { timings: { ...CERTAIN.timings, slow_compile_share: 1 } } })
  expect(start(sim, 'acme/one').warming).toBe(322.2)
})
