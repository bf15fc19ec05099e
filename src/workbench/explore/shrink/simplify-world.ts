/** Replaces the world of a finding by a simpler one, in which the flow without faults does the same. */

import { loadProfile } from '../../../data/profiles/load.ts'
import { stableJson } from '../../../lib/json-values.ts'
import { valueAt } from '../../../lib/zod-problems.ts'
import { Snapshot } from '../../../simulator/checkpoint/snapshot.ts'
import type { FlowWorld, WorldChange } from '../flow-world.ts'
import type { Trials } from './trials.ts'

/** Removes parts of records that a user gave: fields, elements of lists, and numbers of nodes. */

/** A fixture, records that are added to one, or a profile. */
type Records = Readonly<Record<string, unknown>>

/** A place in records: the names of fields and the positions of elements. */
type Place = readonly (string | number)[]

/** Fields that say how many there are of something. A lower number is simpler. */
const COUNTS: readonly string[] = ['count']

/**
 * Tries records without one part after the other, the largest parts first, and goes on from what is accepted.
 *
 * @param accept returns whether these records are enough
 * @returns the number of parts that were removed
 */
async function withoutParts(records: Records, accept: (smaller: Records) => Promise<boolean>): Promise<number> {
  let best: unknown = records
  let removed = 0
  const remove = async (place: Place, value?: unknown): Promise<boolean> => {
    const smaller = replaceAt(best, place, value)
    if (!(await accept(smaller as Records))) return false
    best = smaller
    removed++
    return true
  }
  const visit = async (place: Place): Promise<void> => {
    const value = valueAt(best, place)
    if (COUNTS.includes(String(place.at(-1))) && typeof value === 'number' && value > 1) {
      await remove(place, 1)
      return
    }
    if (typeof value !== 'object' || value === null) return
    // From the end, because the places of earlier elements stay.
    const keys = Array.isArray(value) ? [...value.keys()].reverse() : Object.keys(value)
    const rest: Place[] = []
    for (const key of keys) if (!(await remove([...place, key]))) rest.push([...place, key])
    // After the removal of an element, those behind it have moved.
    const kept = Array.isArray(value) ? (valueAt(best, place) as unknown[]).map((_, i) => [...place, i]) : rest
    for (const one of kept) await visit(one)
  }
  await visit([])
  return removed
}

/** Returns a copy with another value at a place, or without it. */
function replaceAt(root: unknown, [key, ...rest]: Place, value: unknown): unknown {
  if (key === undefined) return value
  const inner = (root as Record<string | number, unknown>)[key]
  const replaced = rest.length === 0 ? value : replaceAt(inner, rest, value)
  if (!Array.isArray(root)) {
    const { [key]: _, ...others } = root as Record<string | number, unknown>
    return replaced === undefined ? others : { ...(root as object), [key]: replaced }
  }
  return root.flatMap((element, i) => (i !== key ? [element] : replaced === undefined ? [] : [replaced]))
}

/** The fixtures without content, from the smallest one. */
const SMALL_FIXTURES: readonly string[] = ['two-nodes', 'empty']
const DEFAULT_PROFILE = 'realistic'
const DEFAULT_SEED = 1

/** Worlds that are tried at most. Each takes two runs at most. */
const MAX_WORLDS = 30
/** As many for a client whose run takes real time. */
const MAX_WORLDS_OF_SLOW_CLIENTS = SMALL_FIXTURES.length

/** What is simpler in a world, and what is left out with it. */
interface Simplification {
  readonly change: WorldChange
  readonly leftOut: readonly string[]
}

/**
 * Tries simpler worlds: the simplest one first, then one thing after the other. A flow keeps what it needs, because its
 * run without faults would end differently without that.
 *
 * @returns what was left out, in words
 */
export async function simplifyWorld(trials: Trials, world: FlowWorld, isSlow: boolean): Promise<readonly string[]> {
  let left = isSlow ? MAX_WORLDS_OF_SLOW_CLIENTS : MAX_WORLDS
  const leftOut: string[] = []
  const attempt = async (one: Simplification): Promise<boolean> => {
    if (left === 0 || Object.keys(one.change).length === 0) return false
    left--
    const isAccepted = await trials.acceptSetting({ world: { ...trials.best.world, ...one.change } })
    if (isAccepted) leftOut.push(...one.leftOut)
    return isAccepted
  }
  const parts = partsOf(world)
  if (parts.length === 0) return []
  for (const fixtures of SMALL_FIXTURES) {
    const chosen = parts.map(options => options.find(({ change }) => change.fixtures === fixtures) ?? options[0]!)
    if (await attempt(merge(chosen))) return leftOut
    if (!chosen.some(({ change }) => change.fixtures === fixtures)) break
  }
  for (const options of parts) {
    // A single part was tried already, except the weather of a profile.
    const untried = parts.length > 1 ? options : options.filter(({ change }) => change.weather !== undefined)
    for (const option of untried) if (await attempt(option)) break
  }
  for (const name of ['with', 'fixtures', 'profile'] as const) {
    const value = world[name]
    if (!isRecords(value) || trials.best.world[name] !== undefined) continue
    const removed = await withoutParts(value, smaller => attempt({ change: { [name]: smaller }, leftOut: [] }))
    if (removed > 0) leftOut.push(`${removed} ${removed === 1 ? 'part' : 'parts'} of ${WORDS[name]}`)
  }
  return leftOut
}

const WORDS = { with: 'the added records', fixtures: 'the fixture', profile: 'the profile' } as const

/** Returns the parts of a world that are not the simplest, each with what can be in their place, the simplest first. */
function partsOf({ fixtures, with: added, seed, profile, weather }: FlowWorld): Simplification[][] {
  const parts: Simplification[][] = []
  const pack = weather ?? loadProfile(profile).weather.pack
  const calm = pack === 'none' ? [] : [{ change: { weather: 'none' }, leftOut: [`the weather ${pack}`] }]
  if (weather !== undefined && calm.length > 0) parts.push(calm)
  if (profile !== undefined && profile !== DEFAULT_PROFILE) {
    const name = typeof profile === 'string' ? `the profile ${profile}` : 'the profile of the flow'
    const simplest = { change: { profile: DEFAULT_PROFILE }, leftOut: [`${name} (${DEFAULT_PROFILE} is enough)`] }
    // With another profile, its weather goes with it.
    parts.push(weather === undefined ? [simplest, ...calm] : [simplest])
  }
  if (added !== undefined && stableJson(added) !== '{}') {
    parts.push([{ change: { with: {} }, leftOut: ['all added records'] }])
  }
  if (typeof fixtures !== 'string' || !SMALL_FIXTURES.includes(fixtures)) {
    // Only what the user chose can be left out.
    const leftOut = (small: string) => (fixtures === undefined ? [] : [`${nameOf(fixtures)} (${small} is enough)`])
    parts.push(SMALL_FIXTURES.map(small => ({ change: { fixtures: small }, leftOut: leftOut(small) })))
  }
  // A snapshot has a seed of its own.
  if (seed !== undefined && String(seed) !== String(DEFAULT_SEED)) {
    parts.push([{ change: { seed: DEFAULT_SEED }, leftOut: [`the seed ${seed} (${DEFAULT_SEED} is enough)`] }])
  }
  return parts
}

function nameOf(fixtures: FlowWorld['fixtures']): string {
  if (typeof fixtures === 'string') return `the fixture ${fixtures}`
  return fixtures instanceof Snapshot ? 'the snapshot' : 'the fixture of the flow'
}

function merge(parts: readonly Simplification[]): Simplification {
  return {
    change: Object.assign({}, ...parts.map(({ change }) => change)),
    leftOut: parts.flatMap(({ leftOut }) => leftOut),
  }
}

function isRecords(value: unknown): value is Records {
  return typeof value === 'object' && value !== null && !(value instanceof Snapshot)
}
