/** Values within a JSON text. All that is not replaced stays as it is, to the last space. */

/**
 * Returns a valid JSON text with some of its values replaced.
 *
 * @param changeOf gets the fields and positions that lead to a value, and returns what replaces its text; undefined looks
 *   into the value
 */
export function replaceJsonValues(
  text: string,
  changeOf: (path: readonly string[]) => ((raw: string) => string) | undefined,
): string {
  const path: string[] = []
  let position = 0
  let copied = 0
  let replaced = ''

  function skipSpace(): void {
    while (' \t\r\n'.includes(text[position]!)) position++
  }

  function skipString(): void {
    position++
    while (text[position] !== '"') position += text[position] === '\\' ? 2 : 1
    position++
  }

  function readField(): string {
    const start = position
    skipString()
    const name = JSON.parse(text.slice(start, position)) as string
    skipSpace()
    position++
    return name
  }

  /** Reads the items of an object or a list. `step` returns the field or the position of an item. */
  function readItems(close: string, step: (nth: number) => string, isLookedAt: boolean): void {
    position++
    skipSpace()
    for (let nth = 0; text[position] !== close; nth++) {
      path.push(step(nth))
      readValue(isLookedAt)
      path.pop()
      if (text[position] === ',') position++
      skipSpace()
    }
    position++
  }

  function readValue(isLookedAt: boolean): void {
    skipSpace()
    const start = position
    const change = isLookedAt ? changeOf(path) : undefined
    const looksInto = isLookedAt && change === undefined
    if (text[start] === '{') readItems('}', readField, looksInto)
    else if (text[start] === '[') readItems(']', String, looksInto)
    else if (text[start] === '"') skipString()
    else while (position < text.length && !',]} \t\r\n'.includes(text[position]!)) position++
    if (change !== undefined) {
      replaced += text.slice(copied, start) + change(text.slice(start, position))
      copied = position
    }
    skipSpace()
  }

  readValue(true)
  return replaced + text.slice(copied)
}
