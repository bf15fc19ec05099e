/** The worlds that the figures are taken in. */
import { fillDeployments } from '../../src/data/bulk-records.ts'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import type { Fixture, FixtureInput } from '../../src/data/records/fixture.ts'

/** An account that runs into no limit: what is refused costs less than what is done. */
const BOUNDLESS = {
  funds_cents: 1_000_000_000,
  gpu_limits: { 'H100-80GB': null, 'L40S-48GB': null, 'L4-24GB': null },
} as const satisfies Partial<FixtureInput['account']>

/** The empty fixture with an account that runs into no limit. */
export function boundless(): Fixture {
  const fixture = loadFixture('empty')
  return { ...fixture, account: { ...fixture.account, ...BOUNDLESS } }
}

/** The same with so many deployments; about half of them run as long as GPUs last. */
export function withDeployments(count: number): Fixture {
  return fillDeployments(boundless(), count, 7)
}

/** The body of POST /deploy/llm for a deployment of this name. */
export function creation(name: string) {
  return {
    model_name: `acme/${name}`,
    gpu: 'H100-80GB',
    num_gpus: 1,
    max_batch_size: 96,
    hub: { repo: 'acme/chat-8b', revision: 'main', token: '' },
    settings: { min_instances: 1, max_instances: 2 },
  } as const
}
