/** Compiles each kind of offered load to a function of time. */

import { type LoadPoint, type OfferedLoad, parseLoadTrace, tracePeriod } from '../../data/offered-load.ts'
import { type Micros, micros } from '../../kernel/duration.ts'
import type { Chance, EntityKey } from '../../kernel/random.ts'
import { BurstRate } from './burst-rate.ts'
import { type LinearPiece, PiecewiseRate } from './piecewise-rate.ts'
import type { RateFunction } from './rate-function.ts'

/**
 * Returns the rate function of a load.
 *
 * @throws Error for a trace without text, LoadTraceError for an invalid trace
 */
export function createRateFunction(load: OfferedLoad, chance: Chance, key: EntityKey): RateFunction {
  switch (load.kind) {
    case 'constant':
      return stepRate([{ at: 0, rps: load.rps }])
    case 'steps':
      return stepRate(load.steps.map(({ at, rps }) => ({ at: micros(at), rps })))
    case 'wave':
      return load.low === load.high ? stepRate([{ at: 0, rps: load.low }]) : waveRate(load)
    case 'burst': {
      const isConstant = micros(load.lasts) === micros(load.every) || load.base === load.peak
      return isConstant ? stepRate([{ at: 0, rps: load.peak }]) : new BurstRate(load, chance, key)
    }
    case 'ramp':
      return rampRate(load)
    case 'trace': {
      if (load.text === undefined) {
        throw new Error(`Failed to compile the trace '${load.path ?? ''}': its text was not read. Read the file first.`)
      }
      const points = parseLoadTrace(load.text, load.path)
      return stepRate(points, load.repeat ? tracePeriod(points) : Number.POSITIVE_INFINITY)
    }
  }
}

function stepRate(points: readonly LoadPoint[], period: Micros = Number.POSITIVE_INFINITY): PiecewiseRate {
  const pieces: LinearPiece[] = []
  const addPiece = (at: Micros, rps: number) => {
    if (pieces.at(-1)?.from !== rps) pieces.push({ at, from: rps, to: rps })
  }
  if (points[0]!.at > 0) addPiece(0, 0)
  for (const { at, rps } of points) addPiece(at, rps)
  return new PiecewiseRate(pieces, period, 0)
}

function rampRate(load: Extract<OfferedLoad, { kind: 'ramp' }>): PiecewiseRate {
  const start = micros(load.start)
  const pieces = [
    { at: 0, from: load.from, to: load.from },
    { at: start, from: load.from, to: load.to },
    { at: micros(load.end), from: load.to, to: load.to },
  ]
  return new PiecewiseRate(start === 0 ? pieces.slice(1) : pieces, Number.POSITIVE_INFINITY, 0)
}

/** (1 + cos x) / 2 for x from 0 to π in 24 steps. A table, because engines can round Math.cos differently. */
const RAISED_COSINE = [
  1, 0.9957224306869052, 0.9829629131445341, 0.9619397662556434, 0.9330127018922194, 0.8966766701456176,
  0.8535533905932737, 0.8043807145043603, 0.75, 0.6913417161825449, 0.6294095225512604, 0.5652630961100259, 0.5,
  0.4347369038899742, 0.3705904774487397, 0.30865828381745525, 0.25, 0.19561928549563967, 0.14644660940672627,
  0.10332332985438247, 0.06698729810778065, 0.03806023374435663, 0.0170370868554659, 0.004277569313094809, 0,
] as const

/** For a wave of a day, a piece is half an hour. The pieces differ from the cosine by at most 0.11 % of the swing. */
const WAVE_PIECES = 48

function waveRate(load: Extract<OfferedLoad, { kind: 'wave' }>): PiecewiseRate {
  const period = micros(load.period)
  const height = (index: number) => {
    const share = RAISED_COSINE[index <= WAVE_PIECES / 2 ? index : WAVE_PIECES - index]!
    return share === 1 ? load.high : load.low + (load.high - load.low) * share
  }
  const pieces = Array.from({ length: WAVE_PIECES }, (_, k) => ({
    at: Math.round((period / WAVE_PIECES) * k),
    from: height(k),
    to: height(k + 1),
  }))
  return new PiecewiseRate(pieces, period, micros(load.peak_at))
}
