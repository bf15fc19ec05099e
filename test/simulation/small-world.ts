import { loadFixture } from '../../src/data/fixtures/load.ts'
import type { OfferedLoadInput } from '../../src/data/offered-load.ts'
import type { ProfileInput } from '../../src/data/profiles/load.ts'
import type { FixtureInput } from '../../src/data/records/fixture.ts'
import type { GpuType } from '../../src/data/records/gpu-config.ts'
import { type Duration, micros } from '../../src/kernel/duration.ts'
import type { LlmSpec } from '../../src/simulation/deployments/deployment-row.ts'
import { findViolations } from '../../src/simulation/invariants/check-world.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'

const { api_tokens, models, hardware, hub } = loadFixture('empty')

/** Constant times, so that a test can count by hand. */
const CONSTANT_TIMES: ProfileInput = {
  timings: {
    placement_delay: '10s',
    container_start: '1s',
    batch_validation: '2s',
    batch_finalizing: '5s',
    storage_expansion: '60s',
    rental_placement_delay: '0s',
  },
  reviews: { limit_review: '4h' },
}

/** Adds the constant times to a profile that extends `realistic`. */
function withConstantTimes(profile: string | ProfileInput = {}): string | ProfileInput {
  if (typeof profile === 'string' || profile.extends !== undefined) return profile
  return {
    ...profile,
    timings: { ...CONSTANT_TIMES.timings, ...profile.timings },
    reviews: { ...CONSTANT_TIMES.reviews, ...profile.reviews },
  }
}

/** A small world with constant times: an account, the catalog, and the nodes that a story needs. */
export function stage(
  nodes: readonly { gpu?: GpuType; gpus?: number; count?: number; prefix?: string; cached?: boolean }[] = [{}],
  account: Partial<FixtureInput['account']> = {},
  options: SimulatorOptions = {},
): Simulator {
  return createSimulator({
    fixtures: {
      account: {
        uid: 'acct_test',
        email: 'test@acme.example',
        display_name: 'acme',
        funds_cents: 1_000_000,
        gpu_limits: { 'H100-80GB': null, 'L40S-48GB': null, 'L4-24GB': null },
        ...account,
      },
      api_tokens: [...api_tokens],
      models: [...models],
      hardware: [...hardware],
      hub,
      nodes: {
        pools: nodes.map(({ gpu = 'H100-80GB', gpus = 8, count = 1, prefix = 'node', cached = true }, i) => ({
          name: `pool-${i}`,
          zone: 'zone-a',
          nodes: [
            {
              prefix: nodes.length > 1 && prefix === 'node' ? `node${i}` : prefix,
              gpu: gpu as Exclude<GpuType, 'other'>,
              gpus_per_node: gpus,
              count,
              image_cached: cached,
            },
          ],
        })),
      },
    },
    onBug: error => {
      throw error
    },
    check: true,
    ...options,
    profile: withConstantTimes(options.profile),
  })
}

export function spec(about: Partial<LlmSpec> & { repo?: string; token?: string } = {}): LlmSpec {
  const { repo = 'acme/chat-8b', token = '', ...rest } = about
  return {
    model_name: 'acme/chat',
    gpu: 'H100-80GB',
    num_gpus: 1,
    max_batch_size: 96,
    weights: { repo, revision: 'main', token },
    min_instances: 1,
    max_instances: 1,
    ...rest,
  }
}

/** Moves a world without clients. Checks its invariants after every event, and in a full count at the end. */
export function pass(sim: Simulator, duration: Duration): void {
  sim.world.runTo(sim.world.clock.now + micros(duration))
  const broken = findViolations(sim.world)
  if (broken.length > 0) throw new Error(`broken: ${JSON.stringify(broken)}`)
}

/** Steps until something holds, at most `within`; the microseconds it took. */
export function passUntil(sim: Simulator, holds: () => boolean, within: Duration = '2h'): number {
  const from = sim.world.clock.now
  const limit = from + micros(within)
  while (!holds()) {
    if (!sim.world.next(limit)) throw new Error(`it does not hold after ${String(within)}`)
  }
  return sim.world.clock.now - from
}

/** What happened to a thing, kind by kind. */
export function story(sim: Simulator, subject: string): string[] {
  return sim.journal
    .entries()
    .filter(entry => entry.subject === subject)
    .map(entry => entry.kind)
}

/** A world whose one deployment runs under offered load. */
export function stageLoad(
  load: OfferedLoadInput,
  settings: { min_instances: number; max_instances: number },
  nodes: { count: number; gpus?: number },
) {
  const deployment = { model_name: 'acme/chat', status: 'running' as const, max_batch_size: 8, settings, load }
  const sim = stage([nodes], {}, { with: { deployments: [{ ...deployment, weights: { repo: 'acme/chat-8b' } }] } })
  const chat = sim.world.deployments.findLive('acme/chat')!
  return { sim, chat, row: () => sim.world.deployments.read(chat.ordinal) }
}
