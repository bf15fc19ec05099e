/** A finding with all that is said of it: its words, and the scenarios that repeat it. */

import { RULES } from '../../evidence/rules/index.ts'
import type { BrokenInvariant } from '../run/run-result.ts'
import type { FlowRunner } from '../run/runner.ts'
import { findInevitability, type Inevitability } from '../shrink/inevitability.ts'
import type { ShrunkFinding } from '../stages/shrinker.ts'
import { toTypeScriptScenario, toYamlScenario } from './finding-files.ts'
import { describeFinding, type FindingWords, toParagraph } from './finding-words.ts'

export interface CompleteFinding {
  readonly inevitability: Inevitability
  readonly words: FindingWords
  /** The words as one paragraph. */
  readonly why: string
  /** The scenario in YAML. */
  readonly yaml: string
  /** The scenario in TypeScript. */
  readonly typescript: string
}

export interface CompleteFindingOptions {
  readonly runner: FlowRunner
  readonly violation: Pick<BrokenInvariant, 'invariant' | 'signature' | 'words'>
  readonly shrunk: Pick<ShrunkFinding, 'plan' | 'world' | 'result' | 'isMinimal'>
  /** The path of the flow, relative to the folder of the scenario, as in `./client.ts`. */
  readonly flow: string
}

/** Finds until when the client of a finding could be saved, and writes the finding. It takes a run for each request. */
export async function completeFinding(options: CompleteFindingOptions): Promise<CompleteFinding> {
  const { runner, violation, shrunk, flow } = options
  const { plan, world, result, isMinimal } = shrunk
  const { signature, invariant } = violation
  const { requests } = result
  const inevitability = await findInevitability({ runner, plan, world, signature, requests: requests.length })
  const words = describeFinding({ violation, plan, requests, isMinimal, inevitability }, adviceOf)
  const why = toParagraph(words)
  const file = { flow, world, plan, invariants: [invariant], comment: why }
  return { inevitability, words, why, yaml: toYamlScenario(file), typescript: toTypeScriptScenario(file) }
}

function adviceOf(invariant: string): string | undefined {
  return Object.hasOwn(RULES, invariant) ? RULES[invariant as keyof typeof RULES].advice : undefined
}
