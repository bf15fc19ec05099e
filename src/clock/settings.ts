/** How a clock may be set: the modes, what each takes, and what makes no sense. */
import { type Duration, type Micros, micros } from '../kernel/duration.ts'
import { Pacer } from '../kernel/pacer.ts'
import { formatSuggestion } from '../lib/did-you-mean.ts'
import { assertKnownKeys } from '../lib/known-keys.ts'

export const CLOCK_MODES = ['manual', 'scaled', 'on-poll', 'idle', 'follow'] as const
/**
 * How time moves: by hand; with a real clock times a speed; with each look at something unfinished; to the next piece
 * of work whenever nobody asks; with a clock that is handed in.
 */
export type ClockMode = (typeof CLOCK_MODES)[number]

/** A clock as a user asks for it. */
export type ClockSetting =
  | ClockMode
  | {
      readonly mode: ClockMode
      /** scaled: simulated seconds in a real second; 60 unless given. */
      readonly speed?: number
      /** on-poll: how far each look moves time; to the next visible change unless given. */
      readonly step?: Duration
      /** idle: real milliseconds without a request after which time jumps; 50 unless given. */
      readonly after?: number
      /** follow: milliseconds of the clock to follow; the fake timers of the test runner unless given. */
      readonly now?: () => number
    }

/** What moves time beside the user's hand. */
export type ClockDrive =
  | { readonly mode: 'manual' }
  | { readonly mode: 'scaled'; readonly pacer: Pacer }
  | { readonly mode: 'on-poll'; readonly step: Micros | undefined }
  | { readonly mode: 'idle'; readonly after: number }
  | { readonly mode: 'follow'; readonly now: (() => number) | undefined }

/** The speed of a scaled clock unless told otherwise: an hour in a minute. */
export const DEFAULT_SPEED = 60
/** Real milliseconds without a request after which an idle clock jumps, unless told otherwise. */
export const DEFAULT_IDLE_MS = 50

const MODE_OF_FIELD = { speed: 'scaled', step: 'on-poll', after: 'idle', now: 'follow' } as const

/**
 * Reads a setting.
 *
 * @param elapsed where the world stands now: a clock is switched without a jump
 * @throws RangeError for a mode that does not exist, a figure that makes no sense, or one that belongs to another mode
 */
export function readSetting(setting: ClockSetting, elapsed: Micros): ClockDrive {
  const fields = typeof setting === 'object' && setting !== null ? setting : { mode: setting }
  const { mode } = fields
  if (!(CLOCK_MODES as readonly unknown[]).includes(mode)) {
    const advice = formatSuggestion(String(mode), CLOCK_MODES, `Modes are ${CLOCK_MODES.join(', ')}.`)
    throw new RangeError(`Failed to set the clock: there is no mode '${String(mode)}'. ${advice}`)
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

/** The setting that a drive was read from. */
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

/** Whether a clock follows fake timers: a server has none, and would stand still. */
export function followsFakeTimers(setting: ClockSetting): boolean {
  return typeof setting === 'object' ? setting.mode === 'follow' && setting.now === undefined : setting === 'follow'
}

function requireSpeed(speed: number): number {
  if (Number.isFinite(speed) && speed > 0 && speed <= 1e6) return speed
  throw new RangeError(
    `Failed to set the clock: a speed of ${String(speed)} is none. Give a number above 0 and up to 1,000,000.`,
  )
}

function requireIdleMs(after: number): number {
  if (Number.isFinite(after) && after >= 0 && after <= 3_600_000) return after
  throw new RangeError(
    `Failed to set the clock: ${String(after)} is no number of milliseconds to wait for. Give one from 0 to 3,600,000.`,
  )
}

function requireFollowedClock(now: (() => number) | undefined): (() => number) | undefined {
  if (now === undefined || (typeof now === 'function' && Number.isFinite(now()))) return now
  throw new RangeError(
    'Failed to set the clock: now is no function that returns milliseconds. Give one, as in { mode: "follow", now: () => fake.now }.',
  )
}
