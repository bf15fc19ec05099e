import { formatSuggestion } from '../../src/lib/did-you-mean.ts'

/** Input that a scaffold rejects. Nothing was written. */
export class InputError extends Error {
  override readonly name = 'InputError'
}

/** Splits `listThings` and `card-expires` into lower-case words. */
export function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .split(/[\s_-]+/)
    .map(word => word.toLowerCase())
}

export function toKebabCase(name: string): string {
  return wordsOf(name).join('-')
}

/** Rejects a name that is missing or has other characters than `pattern` allows. */
export function assertName(what: string, name: string | undefined, pattern: RegExp, example: string): string {
  if (name === undefined) throw new InputError(`Failed to create the ${what}: its name is missing. Use ${example}.`)
  if (!pattern.test(name))
    throw new InputError(`Failed to create the ${what}: the name '${name}' is invalid. Use ${example}.`)
  return name
}

/** Rejects a name that differs from an existing one by its case alone, or not at all. */
export function assertNew(what: string, name: string, existing: readonly string[]): void {
  const same = existing.find(other => other.toLowerCase() === name.toLowerCase())
  if (same !== undefined) throw new InputError(`Failed to create the ${what}: '${same}' exists. Choose another name.`)
}

/** Rejects a word that is not in the list, with the nearest one. */
export function assertKnown(what: string, word: string, known: readonly string[]): void {
  if (known.includes(word)) return
  throw new InputError(
    `Failed to read the arguments: unknown ${what} '${word}'. ${formatSuggestion(word, known, `Use ${known.join(', ')}.`)}`,
  )
}

/** Rejects a text that is missing or too short for a page of docs. A sentence ends with a full stop. */
export function assertText(flag: string, text: string | undefined, isSentence = false): string {
  const rule = isSentence
    ? 'a sentence of at least 20 characters, as in "A token can end."'
    : 'a phrase, as in "List voices"'
  const isValid = text !== undefined && (isSentence ? /^[A-Z].{20,}\.$/ : /^[A-Z\d][^\n]{2,}[^.\s]$/).test(text)
  if (!isValid)
    throw new InputError(`Failed to read --${flag}: ${text === undefined ? 'missing' : 'invalid'}. Give ${rule}.`)
  return text!
}

/** Returns a text as a literal of TypeScript in single quotes, or in double quotes if it has a single one. */
export function quote(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\')
  return escaped.includes("'") ? JSON.stringify(text) : `'${escaped}'`
}
