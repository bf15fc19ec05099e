/** Strings within a JSON text. All that is not replaced stays as it is, to the last space. */

/**
 * Returns a valid JSON text with some of its strings replaced.
 *
 * @param replace gets a string with the fields and positions that lead to it, and returns the text in its place;
 *   undefined keeps it
 */
export function replaceJsonStrings(
  text: string,
  replace: (value: string, path: readonly string[]) => string | undefined,
): string {
  const path: string[] = []
  let position = 0
  let copied = 0
  let replaced = ''

  function skipSpace(): void {
    while (' \t\r\n'.includes(text[position]!)) position++
  }

  function readString(): string {
    const start = position++
    while (text[position] !== '"') position += text[position] === '\\' ? 2 : 1
    position++
    return JSON.parse(text.slice(start, position)) as string
  }

  /** Reads the items of an object or a list. `step` returns the field or the position of an item. */
  function readItems(close: string, step: (nth: number) => string): void {
    position++
    skipSpace()
    for (let nth = 0; text[position] !== close; nth++) {
      path.push(step(nth))
      readValue()
      path.pop()
      if (text[position] === ',') position++
      skipSpace()
    }
    position++
  }

  function readField(): string {
    const name = readString()
    skipSpace()
    position++
    return name
  }

  function readValue(): void {
    skipSpace()
    const start = position
    if (text[start] === '{') readItems('}', readField)
    else if (text[start] === '[') readItems(']', String)
    else if (text[start] === '"') {
      const given = replace(readString(), path)
      if (given !== undefined) {
        replaced += text.slice(copied, start) + JSON.stringify(given)
        copied = position
      }
    } else while (position < text.length && !',]} \t\r\n'.includes(text[position]!)) position++
    skipSpace()
  }

  readValue()
  return replaced + text.slice(copied)
}
