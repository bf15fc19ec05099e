import { formatSuggestion, nearestWord } from './did-you-mean.ts'

/**
 * Rejects an object that has an unknown key.
 *
 * @param context start of the error, as in `Failed to fork`
 * @throws RangeError that names the key and the nearest known key, or all known keys if none is near
 * @example assertKnownKeys({ sead: 1 }, ['seed'], 'Failed to fork') // "Failed to fork: unknown option 'sead'. Did you mean 'seed'?"
 */
export function assertKnownKeys(
  value: object,
  known: readonly string[],
  context: string,
  { noun = 'option', ErrorType = RangeError }: { noun?: string; ErrorType?: new (message: string) => Error } = {},
): void {
  // Their own keys are not options, so what they hold would be ignored.
  const container = [Array, Map, Promise, Set].find(one => value instanceof one)
  if (typeof value !== 'object' || value === null || container !== undefined) {
    const found = container ? container.name : value === undefined ? 'nothing' : JSON.stringify(value)
    throw new ErrorType(`${context}: expected an object of ${noun}s, got ${found}. Give ${known.join(', ')}.`)
  }
  const unknownKey = Object.keys(value).find(key => !known.includes(key))
  if (unknownKey === undefined) return
  const fallback =
    known.length === 0 ? 'Remove it.' : `${noun.charAt(0).toUpperCase()}${noun.slice(1)}s are ${known.join(', ')}.`
  throw new ErrorType(`${context}: unknown ${noun} '${unknownKey}'. ${formatSuggestion(unknownKey, known, fallback)}`)
}

/**
 * Returns the text of a problem for an unknown field of a file, without the field's place.
 *
 * @example describeUnknownField('tims', ['times']) // "unknown field. Did you mean 'times'? Rename or remove it."
 */
export function describeUnknownField(key: string, known: Iterable<string>, noun = 'field'): string {
  const suggestion = nearestWord(key, known)
  return `unknown ${noun}. ${suggestion === undefined ? 'Remove it.' : `Did you mean '${suggestion}'? Rename or remove it.`}`
}
