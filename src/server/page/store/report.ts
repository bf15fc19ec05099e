/** The object that `modelhost-sim explore --json` prints, as far as the page shows it. */
export interface ExploreReport {
  readonly flow: string
  readonly runs: number
  readonly points: number
  readonly chance_of_new: number
  readonly stopped_because: string
  readonly runs_of: Readonly<Record<string, number>>
  /** How the client ended, and what was judged. Missing in a report of an earlier version. */
  readonly card?: { readonly lines: readonly string[] }
  readonly matrix: readonly MatrixCell[]
  readonly findings: readonly Finding[]
}

export type MatrixCell = Readonly<
  Record<'operation' | 'class', string> & Record<'found' | 'surfaced' | 'survived' | 'notReached', number>
>

export interface Finding {
  readonly invariant: string
  readonly signature: string
  readonly plan: readonly unknown[]
  readonly scenario: string
  readonly why: string
  readonly stage: string
  readonly shrinking?: { readonly runs: number; readonly minimal: boolean }
}

/** Returns whether a value is what `explore --json` prints of one flow. */
export function isReport(value: unknown): value is ExploreReport {
  const { flow, findings, matrix } = (value ?? {}) as Partial<ExploreReport>
  return typeof flow === 'string' && [findings, matrix].every(Array.isArray)
}
