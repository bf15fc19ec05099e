import * as z from 'zod'
import type { Micros } from '../../kernel/duration.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { createEndpointFactory, type Operations } from '../../service/endpoint.ts'
import { RefusalError, refuse } from '../../service/refusals.ts'
import type { Snapshot } from '../../simulator/checkpoint/snapshot.ts'
import type { MoneyView } from '../../simulator/explain/money-tracker.ts'
import type { Past } from '../../simulator/history/past/past.ts'
import type { Pasts } from '../../simulator/history/past/pasts.ts'
import { TooManyReaders } from '../../simulator/requests/event-reader.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import type { TimelineLibrary } from '../../simulator/timelines.ts'
import type { ServedWorld } from '../worlds/served-world.ts'
import { TooManyWorlds, type WorldSpec, type Worlds } from '../worlds/worlds.ts'
import type { EventTexts } from './event-stream.ts'

/** Writes a page that runs recordings of worlds again. */
export type WritePage = (content: {
  readonly title: string
  readonly worlds: readonly { readonly title: string; readonly recording: string }[]
}) => string | Promise<string>

/** What handlers of the control plane get in addition to their input. */
export interface ControlScope {
  sim: Simulator
  /** The worlds of the server, including that of `sim`. */
  worlds: Worlds
  /** The scenarios whose timelines the server can play. */
  library: TimelineLibrary
  /** The texts of live events of `sim` that its readers share. */
  eventTexts(): EventTexts
  /** The pasts of the worlds. */
  pasts: Pasts
  /** Returns where the money of the account of `sim` goes. */
  lookAtMoney(): MoneyView
  /** Writes a saved page; undefined if the host cannot. */
  writePage: WritePage | undefined
  /** Every operation of the control plane. */
  operations: Operations
  /** Calls `act`. The journal names this request as the cause of its commands and fault rules. */
  actAsRequest<Result>(act: () => Result): Result
}

/** Declares an endpoint of the control plane; its export name is its operation id. */
export const control = createEndpointFactory<ControlScope, true>('assumed')

/**
 * Calls the simulator, and turns its error about invalid input into a refusal, and that about too many worlds or
 * readers into a 429. Nothing has changed then.
 *
 * @example await refuseInvalid(() => sim.clock.advanceInSlices(body.by))
 */
export async function refuseInvalid<T>(command: () => T | Promise<T>, status = 400): Promise<T> {
  try {
    return await command()
  } catch (error) {
    if (error instanceof RefusalError) throw error
    if (error instanceof TooManyWorlds || error instanceof TooManyReaders) refuse(429, error.message)
    // The simulator throws a RangeError for invalid input, and an EventCapError for a move with too many events.
    if (error instanceof RangeError || (error as Error).name === 'EventCapError')
      refuse(status, (error as Error).message)
    throw error
  }
}

/** Returns the world of a name. Refuses an unknown one with 404. */
export function requireWorld(worlds: Worlds, name: string): ServedWorld {
  return worlds.get(name) ?? refuse(404, `Failed to find the world: ${worlds.explainMissing(name)}.`)
}

/** Returns the snapshot of this name. An unknown name is refused with a 404 that suggests the nearest. */
export function requireSnapshot({ name: world, snapshots }: ServedWorld, name: string): Snapshot {
  const snapshot = snapshots.get(name)
  if (snapshot !== undefined) return snapshot
  const hint = formatSuggestion(name, snapshots.keys(), 'GET /_sim/snapshots lists its snapshots.')
  return refuse(404, `Failed to find the snapshot '${name.slice(0, 100)}': unknown in the world '${world}'. ${hint}`)
}

/**
 * Returns the past of a world. Refuses with 409 if it is not kept.
 *
 * @param purpose what needs it, as in `save a page`
 */
export function requirePast(pasts: Pasts, sim: Simulator, purpose: string): Past {
  return (
    pasts.of(sim) ??
    refuse(409, `Failed to ${purpose}: the past of this world is not kept. Send POST /_sim/past to it before.`)
  )
}

/**
 * Makes a world with a simulator that takes time to create. Refuses with 429 at the maximum number of worlds, before that
 * time too. The simulator of a refused world is disposed.
 */
export async function makeWorldWith(
  worlds: Worlds,
  create: () => Promise<Simulator>,
  spec: Pick<WorldSpec, 'alias' | 'from'> = {},
): Promise<ServedWorld> {
  await refuseInvalid(() => worlds.assertRoom())
  const sim = await create()
  try {
    return await refuseInvalid(() => worlds.make({ ...spec, sim }))
  } catch (error) {
    await sim[Symbol.asyncDispose]()
    throw error
  }
}

/**
 * A duration in the body of a control request. The simulator checks its form. A number is refused: other times of the
 * control plane are numbers of seconds, and durations in code are numbers of milliseconds.
 */
export const DurationField = z
  .custom<string>(value => typeof value === 'string', {
    error: ({ input }) =>
      typeof input === 'number' && Number.isFinite(input)
        ? describeBareNumber(input)
        : "invalid duration. Give a text with a unit, as in '90s', '1h30m' or 'PT1H'",
  })
  .meta({ type: 'string' })

/** Returns the refusal of a duration that is a number. */
export function describeBareNumber(number: number): string {
  return `the number ${number} has no unit. Give a duration, as in '${number}s' or '${number}ms'`
}

/**
 * Returns a time of a query in microseconds since the epoch of the world. It takes Unix seconds or ISO 8601, and refuses
 * anything else with 400.
 *
 * @param purpose what the time is for, as in `read the ledger from`
 */
export function parseTimeParam({ world }: Simulator, purpose: string, text: string): Micros {
  const trimmed = text.trim()
  if (/^-?\d+(\.\d+)?$/.test(trimmed)) return Math.round(world.clock.fromUnix(Number(trimmed)))
  // In a query a raw plus is a space.
  const iso = trimmed.replace(/ (\d\d:?\d\d)$/, '+$1')
  const time = world.clock.elapsedAt(iso)
  if (Number.isFinite(time)) return time
  return refuse(
    400,
    `Failed to ${purpose} '${text}': invalid time. Give Unix seconds, or ISO 8601 as in '2026-01-01T00:00:00Z'.`,
  )
}
