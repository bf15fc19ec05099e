/** The settings of a clock: its modes and their options. */
import { type Duration, type Micros, micros } from '../../kernel/duration.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { monotonicMs } from '../../lib/real-time.ts'

/** Clock modes of a server. It has no clock to follow: its clients wait in processes of their own. */
export const SERVED_CLOCK_MODES = ['manual', 'scaled', 'on-poll', 'idle'] as const

/**
 * Scales real time to a world's time.
 *
 * It returns the time that a world should have reached. The world catches up at its next request.
 */
class Pacer {
  /** Simulated seconds in a real second. With 60 an hour takes a minute. */
  readonly speed: number
  #base: Micros
  #since = monotonicMs()

  /** @param base the present time of the world */
  constructor(speed: number, base: Micros) {
    this.speed = speed
    this.#base = base
  }

  /** The time that the world should have, in microseconds since its epoch. */
  get target(): Micros {
    return Math.floor(this.#base + (monotonicMs() - this.#since) * 1000 * this.speed)
  }

  /** Goes on from `base`, after a manual move of the world. So time never jumps. */
  rebase(base: Micros): void {
    this.#base = base
    this.#since = monotonicMs()
  }
}

export const CLOCK_MODES = ['manual', 'scaled', 'on-poll', 'idle', 'follow'] as const
/**
 * How time moves. `manual`: only by moves of the user. `scaled`: with the real clock times a speed. `on-poll`: with
 * each request about something in progress. `idle`: to the next work whenever no request comes. `follow`: with another
 * clock.
 */
export type ClockMode = (typeof CLOCK_MODES)[number]

/** The setting of a clock as a user writes it. */
export type ClockSetting =
  | ClockMode
  | {
      readonly mode: ClockMode
      /** scaled: simulated seconds in a real second. Default: 60. */
      readonly speed?: number
      /** on-poll: how far each poll moves time. Default: to the next visible change. */
      readonly step?: Duration
      /** idle: real milliseconds without a request after which time jumps. Default: 50. */
      readonly after?: number
      /** follow: returns milliseconds of the clock to follow. Default: the fake timers of the test runner. */
      readonly now?: () => number
    }

/** A setting as the clock uses it. */
export type ClockDrive =
  | { readonly mode: 'manual' }
  | { readonly mode: 'scaled'; readonly pacer: Pacer }
  | { readonly mode: 'on-poll'; readonly step: Micros | undefined }
  | { readonly mode: 'idle'; readonly after: number }
  | { readonly mode: 'follow'; readonly now: (() => number) | undefined }

/** Default speed of a scaled clock: an hour in a minute. */
export const DEFAULT_SPEED = 60
/** Default of the real milliseconds without a request after which an idle clock jumps. */
export const DEFAULT_IDLE_MS = 50

const MODE_OF_FIELD = { speed: 'scaled', step: 'on-poll', after: 'idle', now: 'follow' } as const

/**
 * Reads a setting.
 *
 * @param elapsed the present time of the world in microseconds, from which the clock goes on
 * @throws RangeError for an unknown mode, an option out of range, or an option of another mode
 */
export function readSetting(setting: ClockSetting, elapsed: Micros): ClockDrive {
  const fields = typeof setting === 'object' && setting !== null ? setting : { mode: setting }
  const { mode } = fields
  if (!(CLOCK_MODES as readonly unknown[]).includes(mode)) {
    const advice = formatSuggestion(String(mode), CLOCK_MODES, `Modes are ${CLOCK_MODES.join(', ')}.`)
    throw new RangeError(`Failed to set the clock: unknown mode '${String(mode)}'. ${advice}`)
  }
  assertKnownKeys(fields, ['mode', ...Object.keys(MODE_OF_FIELD)], 'Failed to set the clock', { noun: 'setting' })
  for (const name of Object.keys(fields)) {
    if (name === 'mode' || fields[name as keyof typeof fields] === undefined) continue
    const ownerMode = MODE_OF_FIELD[name as keyof typeof MODE_OF_FIELD]
    if (ownerMode === mode) continue
    throw new RangeError(
      `Failed to set the clock: '${name}' is for the mode ${ownerMode}, and the mode is ${mode}. Leave it out, or give mode '${ownerMode}'.`,
    )
  }
  switch (mode) {
    case 'manual':
      return { mode }
    case 'scaled':
      return { mode, pacer: new Pacer(requireSpeed(fields.speed ?? DEFAULT_SPEED), elapsed) }
    case 'on-poll':
      return { mode, step: fields.step === undefined ? undefined : micros(fields.step) }
    case 'idle':
      return { mode, after: requireIdleMs(fields.after ?? DEFAULT_IDLE_MS) }
    case 'follow':
      return { mode, now: requireFollowedClock(fields.now) }
  }
}

/** Returns the setting that a drive was read from. */
export function toSetting(drive: ClockDrive): ClockSetting {
  switch (drive.mode) {
    case 'manual':
      return drive.mode
    case 'scaled':
      return { mode: drive.mode, speed: drive.pacer.speed }
    case 'on-poll':
      return { mode: drive.mode, ...(drive.step !== undefined && { step: drive.step / 1000 }) }
    case 'idle':
      return { mode: drive.mode, after: drive.after }
    case 'follow':
      return { mode: drive.mode, ...(drive.now !== undefined && { now: drive.now }) }
  }
}

/** Returns whether a clock follows fake timers. A server has none, so its time would not move. */
export function followsFakeTimers(setting: ClockSetting): boolean {
  return typeof setting === 'object' ? setting.mode === 'follow' && setting.now === undefined : setting === 'follow'
}

function requireSpeed(speed: number): number {
  if (Number.isFinite(speed) && speed > 0 && speed <= 1e6) return speed
  throw new RangeError(
    `Failed to set the clock: invalid speed ${String(speed)}. Give a number above 0 and up to 1,000,000.`,
  )
}

function requireIdleMs(after: number): number {
  if (Number.isFinite(after) && after >= 0 && after <= 3_600_000) return after
  throw new RangeError(
    `Failed to set the clock: invalid number of milliseconds ${String(after)} in 'after'. Give a number from 0 to 3,600,000.`,
  )
}

function requireFollowedClock(now: (() => number) | undefined): (() => number) | undefined {
  if (now === undefined || (typeof now === 'function' && Number.isFinite(now()))) return now
  throw new RangeError(
    "Failed to set the clock: 'now' is not a function that returns milliseconds. Give one, as in { mode: 'follow', now: () => fake.now }.",
  )
}
