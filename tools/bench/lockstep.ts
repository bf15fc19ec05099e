/** A client under fake timers: what a poll of its costs, and that it lives the same life every time. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { atMost, type Bench, type Group, type Measured } from './figure.ts'
import { scriptOf } from './worker.ts'

export type Story = 'two hours' | 'a day'

/** What came of a story, lived several times. */
export interface LockstepRun {
  readonly outcomes: readonly string[]
  readonly polls: number
  /** What the client saw and the world's journal, hashed. */
  readonly trace: string
  /** How often it was lived, and how many lives differed: 1 when none did. */
  readonly times: number
  readonly traces: number
  /** The least of the runs, after a first one that is not counted. */
  readonly wallMs: number
  readonly cpuMs: number
}

const NAME = 'lockstep_fetch_poll_ms'

export const lockstep: Group = {
  name: 'lockstep',
  figures: [{ name: NAME, unit: 'ms by the wall', goal: atMost(0.2), run: measured }],
}

async function measured(bench: Bench): Promise<Measured> {
  bench.progress(`${NAME}: ten lives of two stories`)
  const script = [scriptOf(bench, 'lockstep'), 'fetch', bench.quick ? '2' : '10']
  const { stdout } = await promisify(execFile)(process.execPath, script, { cwd: bench.outdir })
  const { runs } = JSON.parse(stdout) as { runs: Readonly<Record<Story, LockstepRun>> }
  for (const [story, { traces, times }] of Object.entries(runs)) {
    if (traces !== 1) throw new Error(`${story}: ${traces} different traces in ${times} lives`)
  }
  const day = runs['a day']
  const beside = Object.entries(runs).map(
    ([story, { polls, wallMs, cpuMs, times }]) =>
      `${story}: ${polls} polls in ${Math.round(wallMs)} ms, ${(cpuMs / polls).toFixed(2)} ms of CPU a poll, ${times} of ${times} alike`,
  )
  return { value: day.wallMs / day.polls, beside: beside.join('; ') }
}
