/** Flows as seed tests: one seed is one random plan. */

import { readFileSync } from 'node:fs'
import { SECOND } from '../../kernel/duration.ts'
import { prepare } from '../../workbench/explore/explore.ts'
import { createFlowRunner } from '../../workbench/explore/run/flow-runner.ts'
import { RunStopped } from '../../workbench/explore/run/runner.ts'
import type { RunnableTest, SeedOutcome } from '../../workbench/explore/shards/play-shard.ts'
import type { SeedFinding } from '../../workbench/explore/shards/records.ts'
import { type ShrinkOptions, shrink } from '../../workbench/explore/shrink/shrink.ts'
import { runSeed } from '../../workbench/explore/stages/swarm.ts'
import type { LoadedFlow } from '../../workbench/scenario/runner/load-flow.ts'
import { hashOf } from '../shards/scenario-tests.ts'

/** A seed test that holds a simulator. */
export interface FlowTest extends RunnableTest {
  dispose(): Promise<void>
}

/**
 * Runs a flow without faults, and returns it as a seed test.
 *
 * @param signal ends the shrinking of a finding. Its seed then has no result
 * @throws ExploreError for a flow that is not repeatable or throws without a fault
 */
export async function flowTest({ flow, file }: LoadedFlow, signal?: AbortSignal): Promise<FlowTest> {
  const runner = createFlowRunner(flow)
  const prepared = await prepare(runner, { name: flow.name })
  const ofBase = new Set(prepared.base.broken.map(({ signature }) => signature))
  return {
    name: flow.name,
    // Fixtures, seed and profile change the digest of the base run.
    hash: hashOf([readFileSync(file), flow.name, prepared.base.digest]),
    async run(seed, isKnown) {
      const run = await runSeed(runner, { ...prepared, inputs: flow.options.inputs }, Number(seed))
      return toOutcome(
        run,
        { runner, declaredInputs: flow.options.inputs, signal },
        signature => ofBase.has(signature),
        isKnown,
      )
    },
    dispose: () => runner.dispose(),
  }
}

async function toOutcome(
  { plan, inputs, ofInputs, result }: Awaited<ReturnType<typeof runSeed>>,
  options: Pick<ShrinkOptions, 'runner' | 'declaredInputs' | 'signal'>,
  isOfBase: (signature: string) => boolean,
  isKnown: (signature: string) => boolean,
): Promise<SeedOutcome> {
  const findings = new Map<string, SeedFinding>()
  // What the inputs break alone is not an effect of the plan.
  const origins = [
    ...(ofInputs?.broken ?? []).map(violation => ({ ...violation, plan: [] })),
    ...result.broken.map(violation => ({ ...violation, plan })),
  ]
  for (const { signature, words, plan } of origins) {
    // What fails without a fault is found by the exploration without shards.
    if (findings.has(signature) || isOfBase(signature)) continue
    const small = isKnown(signature) ? undefined : await shrink({ ...options, plan, inputs, signature })
    if (options.signal?.aborted && small?.isMinimal === false) throw new RunStopped()
    findings.set(signature, {
      ...{ signature, words },
      ...(small !== undefined && { plan: [...small.plan] }),
      ...(small?.inputs !== undefined && { inputs: small.inputs }),
    })
  }
  const { digest, features, duration } = result
  return {
    digest,
    findings: [...findings.values()],
    features: [...features],
    virtualSeconds: duration / SECOND,
  }
}
