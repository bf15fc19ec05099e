/**
 * Returns the source of a pattern that matches exactly this text. Not for use inside a character class.
 *
 * @example new RegExp(`^${escapeRegExp('a.b')}$`).test('a.b') // true
 */
export function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
