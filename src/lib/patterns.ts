/** Patterns for texts: those in which `*` matches any text, the empty text included, and regular expressions. */

/**
 * Returns the test of a pattern. Each piece between asterisks is searched once and never again from an earlier place:
 * the leftmost match of a piece leaves the most text for the pieces after it.
 *
 * @example globOf('create*')('createLora') // true
 */
export function globOf(pattern: string): (text: string) => boolean {
  const [first, ...pieces] = pattern.split('*') as [string, ...string[]]
  const last = pieces.pop()
  if (last === undefined) return text => text === pattern
  return text => {
    if (!text.startsWith(first)) return false
    let at = first.length
    for (const piece of pieces) {
      const found = text.indexOf(piece, at)
      if (found < 0) return false
      at = found + piece.length
    }
    return text.length - last.length >= at && text.endsWith(last)
  }
}

/**
 * Converts `/…/` to a pattern; other texts stay as they are.
 *
 * @throws SyntaxError for an invalid pattern
 */
export function parsePattern(text: string): string | RegExp {
  const [, source, flags] = /^\/(.+)\/([imsu]{0,4})$/s.exec(text) ?? []
  return source === undefined ? text : new RegExp(source, flags)
}

/**
 * Returns the source of a pattern that matches exactly this text. Not for use inside a character class.
 *
 * @example new RegExp(`^${escapeRegExp('a.b')}$`).test('a.b') // true
 */
export function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
