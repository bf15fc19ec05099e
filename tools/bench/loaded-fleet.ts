/** A fleet whose deployments follow loads of their own, as data: what the fleet's figures and their baseline live on. */

import type { FixtureInput } from '../../src/data/records/fixture.ts'
import { estimateWeights, instanceHardware } from '../../src/simulation/fleet/weights.ts'
import { InstanceEngine } from '../../src/simulation/load/engine.ts'
import { maxRateFor } from '../../src/simulation/load/serving.ts'
import { boundless } from './stage.ts'

type Seed = NonNullable<FixtureInput['deployments']>[number]

export const GPUS_PER_NODE = 8
/** Share of an instance's throughput that the autoscaler aims at; the profile's. */
const TARGET = 0.7

/** Most models are small, and the large ones hold most of the GPUs. */
const SIZES = [
  { repo: 'acme/chat-8b', gpus: 1 },
  { repo: 'acme/code-8b', gpus: 1 },
  { repo: 'acme/chat-14b', gpus: 2 },
  { repo: 'acme/chat-70b', gpus: 4 },
] as const

/** A fixture object of `gpus` H100 on nodes of 8, and of so many deployments that would fill nine tenths of them at their peaks. */
export function loadedFleet(gpus: number, deployments: number): FixtureInput {
  const share = (0.9 * gpus) / deployments
  return {
    ...emptyFleet(gpus),
    deployments: Array.from({ length: deployments }, (_, i) => loaded(i, share)),
  }
}

/** The nodes alone. */
export function emptyFleet(gpus: number): FixtureInput {
  const { account } = boundless()
  const count = Math.ceil(gpus / GPUS_PER_NODE)
  const nodes = [{ prefix: 'node', gpu: 'H100-80GB' as const, gpus_per_node: GPUS_PER_NODE, count, image_cached: true }]
  return {
    // $50 M: a month of 10,000 GPUs costs 18.
    account: { ...account, funds_cents: 5_000_000_000 },
    nodes: { pools: [{ name: 'bench', zone: 'zone-a', nodes }] },
  }
}

function loaded(i: number, share: number): Seed {
  const { repo, gpus } = SIZES[i % SIZES.length]!
  const most = Math.max(2, Math.round(share / gpus))
  const hardware = instanceHardware(estimateWeights(repo), 'H100-80GB', gpus, { maxBatchSize: 96 })
  const speed = new InstanceEngine({ ...hardware, promptTokens: 500, outputTokens: 200 })
  return {
    model_name: `acme/fleet-${i}`,
    num_gpus: gpus,
    weights: { repo },
    settings: { min_instances: 1, max_instances: most },
    load: loadUpTo(i, maxRateFor(most, speed.rateWith(TARGET * speed.places))),
  }
}

/** Of five deployments three follow the day, each with a peak of its own, one bursts, one has two shifts a day. */
function loadUpTo(i: number, peak: number): NonNullable<Seed['load']> {
  const minutes = (i * 37) % (24 * 60)
  switch (i % 5) {
    case 3:
      return {
        kind: 'burst',
        base: peak * 0.2,
        peak: peak * 0.9,
        every: `${2 + (i % 3)}h`,
        lasts: `${20 + (i % 4) * 10}m`,
      }
    case 4:
      return { kind: 'wave', low: peak * 0.1, high: peak, period: '12h', peak_at: `${minutes % 720}m` }
    default:
      return { kind: 'wave', low: peak * 0.05, high: peak * 0.95, peak_at: `${minutes}m` }
  }
}
