/** The leaves of what a client returned: its texts, numbers and other single values, each with its place. */

import { encodeBase64 } from '../../../lib/bytes.ts'
import { attempt } from '../../../lib/errors.ts'
import { oncePer } from '../../../lib/once.ts'
import { isVector } from './contents.ts'

/** Keys from the result to a value. Numbers are positions in lists. */
export type Place = readonly (string | number)[]

export interface Leaf {
  readonly place: Place
  /** A text, a number, a boolean, null, or undefined. Bytes are their base64, and a vector is its JSON. */
  readonly value: unknown
  /** The text of the client that this number is in; undefined for a value of its own. */
  readonly text?: Leaf
}

/** A place of a result that may tell of a loss. */
export interface Teller {
  readonly place: Place
  /** The record that it speaks of: a loss in it is said. */
  readonly record: Place
  /** Equal for equal places of other runs. */
  readonly key: string
  /**
   * `always`: it tells. `ifQuiet`: it tells unless it is there too in runs in which nothing is lost. `perhaps`: it may just
   * follow from the lost value.
   */
  readonly tells: 'always' | 'ifQuiet' | 'perhaps'
}

/** A digest of 16 to 64 bytes, in hexadecimal digits or in base64. */
const DIGEST =
  /^(?:\w{2,8}[:-])?(?:[\da-f]{32}|[\da-f]{40}|[\da-f]{56}|[\da-f]{64}|[\da-f]{96}|[\da-f]{128}|[\w+/]{22}==|[\w+/-]{27}=|[\w+/-]{43}=|[\w+/-]{86}==)$/i
/** The key of a figure in a text. */
const FIGURE_KEY = /^#(\d+) /
const MAX_DEPTH = 12
const MAX_LEAVES = 100_000

/**
 * Returns the leaves of a result. An empty list or object is a leaf too.
 *
 * @param blobs the base64 of the blobs in it, which take time to read
 */
export function leavesOf(result: unknown, blobs?: ReadonlyMap<unknown, string>): Leaf[] {
  const leaves: Leaf[] = []
  const seen = new Set<object>()
  const visit = (value: unknown, place: Place): void => {
    if (leaves.length === MAX_LEAVES) return
    const single = blobs?.get(value) ?? attempt(() => toSingle(value))
    if (single !== value || typeof value !== 'object' || value === null) {
      leaves.push({ place, value: single })
      return
    }
    if (place.length === MAX_DEPTH || seen.has(value)) return
    seen.add(value)
    const children = childrenOf(value)
    if (children.length === 0) leaves.push({ place, value: null })
    for (const [key, child] of children) visit(child, [...place, key])
    seen.delete(value)
  }
  visit(result, [])
  return leaves
}

/** Returns the values in a value with their keys: of lists, maps, sets, errors and other objects that can be read. */
export function childrenOf(value: unknown): readonly (readonly [string | number, unknown])[] {
  return typeof value === 'object' && value !== null ? (attempt(() => readChildren(value)) ?? []) : []
}

function readChildren(value: object): readonly (readonly [string | number, unknown])[] {
  if (Array.isArray(value)) return value.map((child, i) => [i, child] as const)
  if (value instanceof Set) return Array.from(value, (child, i) => [i, child] as const)
  if (value instanceof Map || value instanceof Headers || value instanceof URLSearchParams) {
    return Array.from(value as Iterable<readonly [unknown, unknown]>, ([key, child]) => [String(key), child] as const)
  }
  const form = attempt(() => formOf(value)) ?? value
  return form === value ? fieldsOf(value) : childrenOf(form)
}

function fieldsOf(value: object): (readonly [string | number, unknown])[] {
  const ofErrors = value instanceof Error ? ['message', 'cause', 'errors'] : []
  const names = new Set([...ofErrors, ...Object.keys(value), ...gettersOf(value)])
  return Array.from(names, name => [name, attempt(() => (value as Readonly<Record<string, unknown>>)[name])] as const)
}

/** Returns what an object of a class answers to `toJSON`, else its fields and what it iterates over, else the object itself. */
const formOf = oncePer((value: object): unknown => {
  if (isOfPlatform(Object.getPrototypeOf(value) as object)) return value
  const { toJSON, [Symbol.iterator]: iterate } = value as { toJSON?: unknown; [Symbol.iterator]?: unknown }
  const json: unknown = typeof toJSON === 'function' ? toJSON.call(value) : undefined
  if (typeof json === 'object' && json !== null) return json
  // One that is its own iterator can be read once.
  if (typeof iterate !== 'function' || iterate.call(value) === value) return value
  const entries: unknown[] = []
  for (const entry of value as Iterable<unknown>) if (entries.push(entry) === MAX_LEAVES) break
  return { ...Object.fromEntries(fieldsOf(value)), entries }
})

/** Returns the names of the getters of classes that are not of the platform. */
function gettersOf(value: object): string[] {
  const names: string[] = []
  let prototype: unknown = Object.getPrototypeOf(value)
  while (typeof prototype === 'object' && prototype !== null && !isOfPlatform(prototype)) {
    for (const [name, { get }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) if (get) names.push(name)
    prototype = Object.getPrototypeOf(prototype)
  }
  return names
}

function isOfPlatform(prototype: object): boolean {
  const { constructor: type } = prototype
  return typeof type !== 'function' || (globalThis as Record<string, unknown>)[type.name] === type
}

/** Returns the texts in a value: its keys, and its leaves that are texts. */
export function textsIn(value: unknown): string[] {
  return leavesOf(value)
    .flatMap(({ place, value }) => [...place, value])
    .filter(one => typeof one === 'string')
}

/** Returns the value at a place; undefined without one. */
export function valueAt(result: unknown, place: Place): unknown {
  let value = result
  for (const key of place)
    value = Array.isArray(value) ? value[key as number] : childrenOf(value).find(([name]) => name === key)?.[1]
  return value
}

/** Tells whether a leaf has the form of a digest. */
export function isDigest(value: unknown): boolean {
  return typeof value === 'string' && DIGEST.test(value)
}

/** Tells whether a leaf can follow from an answer that does not have it: a number, a vector or a digest. */
export function isDerived({ value }: Pick<Leaf, 'value'>): boolean {
  return typeof value === 'number' || (typeof value === 'string' && (/^\[-?\d/.test(value) || isDigest(value)))
}

/** Returns a place as text, as in `answers[2].text` or `number 2 of lines[0]`. */
export function formatPlace(place: Place): string {
  const [, figure] = FIGURE_KEY.exec(String(place.at(-1))) ?? []
  if (figure !== undefined) return `number ${figure} of ${formatPlace(place.slice(0, -1))}`
  const text = place.map((key, i) => (typeof key === 'number' ? `[${key}]` : i === 0 ? key : `.${key}`)).join('')
  return text === '' ? 'the result' : text
}

/** Returns a text that the same places of all entries of a list share, and the figures of one form in a text. */
export function patternOf(place: Place): string {
  return place.map(key => (typeof key === 'number' ? '*' : key.replace(FIGURE_KEY, '#* '))).join('.')
}

/** Tells whether one place begins with another. */
export function isWithin(place: Place, outer: Place): boolean {
  return outer.every((key, i) => place[i] === key)
}

/**
 * Returns the place of the record that a place belongs to: the nearest object that is an entry of a list or of a map, else
 * the whole result. The entries of a list or a map are objects with a field in common.
 */
export function recordOf(result: unknown, place: Place): Place {
  let record: Place = []
  let value = result
  for (const [depth, key] of place.entries()) {
    const isInCollection = typeof value === 'object' && value !== null && isCollection(value)
    value = valueAt(value, [key])
    if (isInCollection && isRecord(value)) record = place.slice(0, depth + 1)
  }
  return record
}

const isCollection = oncePer((value: object): boolean => {
  const children = childrenOf(value)
  return areRecords(children.map(([, child]) => child)) && (Array.isArray(value) || children.length > 1)
})

function areRecords([first, ...others]: readonly unknown[]): boolean {
  if (!isRecord(first) || !others.every(isRecord)) return false
  return Object.keys(first as object).some(key => others.every(other => Object.hasOwn(other as object, key)))
}

function isRecord(value: unknown): boolean {
  const isObject = typeof value === 'object' && value !== null && attempt(() => toSingle(value)) === value
  return isObject && !Array.isArray(value) && !(value instanceof Map) && !(value instanceof Set)
}

function toSingle(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return attempt(() => value.toISOString()) ?? ''
  if (value instanceof ArrayBuffer) return encodeBase64(new Uint8Array(value))
  if (value instanceof Uint8Array || value instanceof DataView) {
    return encodeBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
  }
  if (ArrayBuffer.isView(value)) return JSON.stringify([...(value as unknown as Iterable<unknown>)])
  return isVector(value) ? JSON.stringify(value) : value
}
