/** Samples of planned speech: a table with one period of the voice, read at the pitch of each frame. */
import { FRAME_SAMPLES, MAX_LOUDNESS, SAMPLE_RATE, type SpeechPlan } from './speech-plan.ts'

const TABLE_BITS = 10
const TABLE_SIZE = 1 << TABLE_BITS
/** Amplitude of the loudest frame, of 32,767. */
const AMPLITUDE = 20_000

/** Reads the frames of a plan in order. Each frame continues the wave of the one before. */
export class Oscillator {
  readonly #plan: SpeechPlan
  readonly #table: Int16Array
  readonly #samples = new Int16Array(FRAME_SAMPLES)
  #frame = 0
  #phase = 0

  constructor(plan: SpeechPlan) {
    this.#plan = plan
    this.#table = createTable(plan.timbre)
  }

  /** Returns the samples of the next frame, in an array that the next call overwrites. */
  next(): Int16Array {
    const { pitches, loudness } = this.#plan
    const table = this.#table
    const samples = this.#samples
    const frame = this.#frame++
    const from = frame === 0 ? 0 : loudness[frame - 1]!
    const to = loudness[frame]!
    if (from === 0 && to === 0) return samples.fill(0)
    // Integers of 32 bits alone, so that every engine gives the same samples.
    const step = Math.floor((pitches[frame]! * 4_294_967_296) / SAMPLE_RATE) | 0
    const gainStep = Math.trunc(((to - from) * 65_536) / FRAME_SAMPLES)
    let phase = this.#phase
    let gain = from * 65_536
    for (let i = 0; i < FRAME_SAMPLES; i++) {
      samples[i] = (table[phase >>> (32 - TABLE_BITS)]! * (gain >> 16)) >> 8
      phase = (phase + step) | 0
      gain += gainStep
    }
    this.#phase = phase
    return samples
  }
}

/** Tells whether a frame has no sound at all. */
export function isSilent({ loudness }: SpeechPlan, frame: number): boolean {
  return loudness[frame] === 0 && (frame === 0 || loudness[frame - 1] === 0)
}

/** Returns one period of the weighted harmonics. */
function createTable(timbre: readonly number[]): Int16Array {
  const total = timbre.reduce((sum, weight) => sum + weight, 0)
  const scale = (AMPLITUDE * 256) / (MAX_LOUDNESS * total)
  const table = new Int16Array(TABLE_SIZE)
  for (let i = 0; i < TABLE_SIZE; i++) {
    let sum = 0
    for (const [index, weight] of timbre.entries()) sum += weight * wave(((i * (index + 1)) % TABLE_SIZE) / TABLE_SIZE)
    table[i] = Math.round(sum * scale)
  }
  return table
}

/** Returns the sine of a turn (0 to 1), within 0.002: by + − × ÷ alone, which IEEE 754 defines exactly. */
function wave(turn: number): number {
  const half = turn < 0.5 ? turn * 2 : turn * 2 - 1
  const product = half * (1 - half)
  const value = (16 * product) / (5 - 4 * product)
  return turn < 0.5 ? value : -value
}
