/** What was found, once for each signature. */

import type { ObservedRequest } from '../../../simulator/judge/observation.ts'
import type { InputValues } from '../input.ts'
import type { Interpreted } from '../plan/choices.ts'
import type { Surface } from '../plan/classes.ts'
import type { Plan, PlanItem } from '../plan/plan.ts'
import type { BrokenInvariant, RunResult } from '../run/runner.ts'
import type { ShrunkFinding } from './shrinker.ts'

const LATE_LIST =
  'the service may list a new thing late, and it has no idempotency key, so a client cannot know that its create took effect'

const REFUSED = 'the service refused the client, so it cannot look for what its create made'

/** Fault kinds after which the client has no answer that it can read, or not in time. */
const LOSING: ReadonlySet<string> = new Set(['empty', 'truncated', 'garbled', 'latency', 'slowBody'])

/** Returns why no client can survive a plan without help of the service; undefined if one can. Its faults are necessary. */
export function surfaceReasonOf(plan: Plan): string | undefined {
  if (!plan.some(losesAnswer)) return undefined
  if (plan.some(isStale)) return LATE_LIST
  return plan.some(isRefusal) ? REFUSED : undefined
}

/** Returns why a violation in a run of one fault says nothing about the client; undefined if it does. */
export function surfaceOf(violation: BrokenInvariant, ofPoint: Surface | undefined): string | undefined {
  const isAbout = ofPoint?.rules?.has(violation.invariant) ?? true
  return violation.maySurface ?? (isAbout ? ofPoint?.reason : undefined)
}

function isRefusal(item: PlanItem): boolean {
  return 'fault' in item && item.fault.fault.kind === 'status' && [401, 403].includes(item.fault.fault.status)
}

function isStale(item: PlanItem): boolean {
  return 'fault' in item && item.fault.fault.kind === 'stale'
}

/** Returns whether the client cannot know whether its request was carried out. */
function losesAnswer(item: PlanItem): boolean {
  if ('crash' in item) return true
  if (!('fault' in item)) return false
  const { fault } = item.fault
  return LOSING.has(fault.kind) || ('effect' in fault && fault.effect === 'done')
}

export type StageName = 'base' | 'singles' | 'pairs' | 'swarm'

/** A broken invariant and the plan that breaks it. */
export interface Finding extends BrokenInvariant {
  /** The shrunk plan, or the one that was run if there was no time to shrink it. Empty: it takes no fault. */
  readonly plan: Plan
  readonly stage: StageName
  /** The seed of the swarm run; undefined for other stages. */
  readonly seed: number | undefined
  /** The inputs of the flow that the finding needs; undefined for the simplest ones. */
  readonly inputs: InputValues | undefined
  /** The requests of the run of the plan. */
  readonly requests: readonly ObservedRequest[]
  /** What shrinking came to; undefined if there was no time for it, or no fault to remove. */
  readonly shrunk: Omit<ShrunkFinding, 'plan' | 'inputs' | 'result'> | undefined
}

/** A violation after a fault that no client can survive without help of the service. It is not a finding. */
export interface Surfaced extends BrokenInvariant {
  readonly plan: Plan
  /** Why no client can survive it. */
  readonly reason: string
}

/** Where a run comes from. */
export interface RunOrigin {
  readonly stage: StageName
  readonly plan: Plan
  readonly seed?: number
  readonly inputs?: Interpreted<InputValues> | undefined
  readonly maySurface?: Surface | undefined
}

/** Keeps the first finding of each signature. */
export class Findings {
  readonly #findings = new Map<string, Finding>()
  readonly #surfaced = new Map<string, Surfaced>()

  get all(): readonly Finding[] {
    return [...this.#findings.values()].filter(({ plan }) => surfaceReasonOf(plan) === undefined)
  }

  /** The violations that appear only after faults that may surface. */
  get surfaced(): readonly Surfaced[] {
    const late = [...this.#findings.values()].flatMap(({ requests: _, ...finding }) => {
      const reason = surfaceReasonOf(finding.plan)
      return reason === undefined ? [] : [{ ...finding, reason }]
    })
    return [...[...this.#surfaced.values()].filter(({ signature }) => !this.#findings.has(signature)), ...late]
  }

  /** Adds what a run broke. Returns the findings that are new. */
  add({ broken, requests }: RunResult, { stage, plan, seed, inputs, maySurface: ofPoint }: RunOrigin): Finding[] {
    const added: Finding[] = []
    for (const violation of broken) {
      const { signature } = violation
      const maySurface = surfaceOf(violation, ofPoint)
      const known = this.#findings.get(signature)
      const isReplaced = known !== undefined && surfaceReasonOf(known.plan) !== undefined
      if (known !== undefined && !(isReplaced && surfaceReasonOf(plan) === undefined)) continue
      if (maySurface !== undefined) {
        if (!this.#surfaced.has(signature)) this.#surfaced.set(signature, { ...violation, plan, reason: maySurface })
        continue
      }
      const finding = {
        ...{ ...violation, plan, stage, seed, inputs: inputs?.result },
        ...{ requests, shrunk: undefined },
      }
      this.#findings.set(signature, finding)
      added.push(finding)
    }
    return added
  }

  /** Gives a finding its shrunk plan, and the words and the evidence of the run of that plan. */
  setShrunk(finding: Finding, { plan, inputs, result, ...shrunk }: ShrunkFinding): void {
    const violation = result.broken.find(({ signature }) => signature === finding.signature)
    if (violation === undefined) return
    const { requests } = result
    this.#findings.set(finding.signature, { ...finding, ...violation, plan, inputs, requests, shrunk })
  }
}
