/** What a figure is, and what it gets to work with. */

/** A bound that a figure should keep: of the value itself, or of its ratio to the baseline. */
export interface Goal {
  readonly of: 'value' | 'ratio'
  readonly bound: 'least' | 'most'
  readonly is: number
}

/** One run of a figure. `ratio` is ours ÷ baseline. */
export interface Measured {
  readonly value: number
  readonly baseline?: number
  readonly ratio?: number
  /** What belongs beside the figure in the table, as in the requests per second that came through. */
  readonly beside?: string
}

export interface Figure {
  readonly name: string
  readonly unit: string
  readonly goal?: Goal
  run(bench: Bench): Promise<Measured>
}

/** Figures that are asked for together. */
export interface Group {
  readonly name: string
  /** Runs only when it is asked for by name. */
  readonly heavy?: boolean
  readonly figures: readonly Figure[]
}

/** Where and how to measure. */
export interface Bench {
  /** The project's folder. */
  readonly root: string
  /** The folder of the bundled bench; `processes/` in it holds what runs in a process of its own. */
  readonly outdir: string
  /** Only shows that everything works: one short window each. */
  readonly quick: boolean
  /** Pairs of windows, baseline and ours in turn. */
  readonly runs: number
  /** How long a window lasts. */
  readonly windowMs: number
  /** Where CPU profiles go when they are asked for. */
  readonly profiles?: string
  /** Says on stderr what is being done. */
  progress(what: string): void
}

export const atLeast = (is: number, of: Goal['of'] = 'value'): Goal => ({ of, bound: 'least', is })
export const atMost = (is: number, of: Goal['of'] = 'value'): Goal => ({ of, bound: 'most', is })

/** Whether a figure keeps its goal; undefined when it has none. */
export function keeps({ goal }: Figure, measured: Measured): boolean | undefined {
  const reached = goal && measured[goal.of]
  if (goal === undefined || reached === undefined) return undefined
  return goal.bound === 'least' ? reached >= goal.is : reached <= goal.is
}
