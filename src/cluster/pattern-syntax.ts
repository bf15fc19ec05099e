/** What a regular expression says, as a tree: of the syntax that JavaScript has under the flag `u`. */

export type PatternNode =
  | { readonly kind: 'character'; readonly is: (char: string) => boolean; readonly source: string }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'either'; readonly branches: readonly PatternNode[] }
  | { readonly kind: 'times'; readonly body: PatternNode; readonly least: number; readonly most: number }
  | { readonly kind: 'look'; readonly isAhead: boolean; readonly isNegative: boolean; readonly body: PatternNode }
  | { readonly kind: 'start' | 'end' | 'edge' | 'inside' }

/** The tree of a pattern; undefined where it says what this does not read: references back to its groups. */
export function parsePattern(pattern: string): PatternNode | undefined {
  // Who reads on may take for granted that every bracket closes.
  new RegExp(pattern, 'u')
  const reader = new Reader([...pattern])
  const tree = reader.either()
  return reader.isRead ? tree : undefined
}

class Reader {
  readonly #chars: readonly string[]
  #at = 0
  isRead = true

  constructor(chars: readonly string[]) {
    this.#chars = chars
  }

  either(): PatternNode {
    const branches = [this.#sequence()]
    while (this.#takes('|')) branches.push(this.#sequence())
    return branches.length === 1 ? branches[0]! : { kind: 'either', branches }
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = []
    while (this.#at < this.#chars.length && this.#chars[this.#at] !== '|' && this.#chars[this.#at] !== ')') {
      const atom = this.#atom()
      const counted = this.#count()
      parts.push(counted === undefined ? atom : { kind: 'times', body: atom, ...counted })
    }
    return parts.length === 1 ? parts[0]! : { kind: 'sequence', parts }
  }

  #atom(): PatternNode {
    const char = this.#chars[this.#at++]!
    switch (char) {
      case '^':
        return { kind: 'start' }
      case '$':
        return { kind: 'end' }
      case '(':
        return this.#group()
      case '[': {
        const from = this.#at - 1
        while (this.#chars[this.#at] !== ']') this.#at += this.#chars[this.#at] === '\\' ? 2 : 1
        this.#at++
        return classOf(this.#chars.slice(from, this.#at).join(''))
      }
      case '.':
        // Not a dot, which a character of this source would be.
        return classOf('[^\\n\\r\\u2028\\u2029]')
      case '\\':
        return this.#escaped()
      default:
        return { kind: 'character', is: one => one === char, source: char }
    }
  }

  #group(): PatternNode {
    let look: { isAhead: boolean; isNegative: boolean } | undefined
    if (this.#takes('?')) {
      const isBehind = this.#chars[this.#at] === '<' && /[=!]/.test(this.#chars[this.#at + 1]!)
      if (isBehind) this.#at++
      if (this.#takes('=')) look = { isAhead: !isBehind, isNegative: false }
      else if (this.#takes('!')) look = { isAhead: !isBehind, isNegative: true }
      else if (this.#takes('<')) while (!this.#takes('>')) this.#at++
      // Anything else switches flags.
      else if (!this.#takes(':')) this.isRead = false
    }
    const body = this.either()
    this.#at++
    return look === undefined ? body : { kind: 'look', ...look, body }
  }

  #escaped(): PatternNode {
    const char = this.#chars[this.#at++]!
    if (char === 'b') return { kind: 'edge' }
    if (char === 'B') return { kind: 'inside' }
    if (char === 'k' || /[1-9]/.test(char)) {
      this.isRead = false
      return { kind: 'sequence', parts: [] }
    }
    const rest = this.#chars.slice(this.#at, this.#at + 64).join('')
    const longer =
      char === 'p' || char === 'P' || (char === 'u' && rest[0] === '{')
        ? rest.indexOf('}') + 1
        : ({ u: /^[dD][89abAB]..\\u[dD][c-fC-F]/.test(rest) ? 10 : 4, x: 2, c: 1 }[char] ?? 0)
    this.#at += longer
    return classOf(`\\${char}${rest.slice(0, longer)}`)
  }

  /** How often what stands before is there; lazy or not makes no difference to what fits. */
  #count(): { least: number; most: number } | undefined {
    const found = /^(?:[*+?]|\{(\d+)(,(\d*))?\})\??/.exec(this.#chars.slice(this.#at, this.#at + 48).join(''))
    if (found === null) return undefined
    this.#at += found[0].length
    const [text, least, comma, most] = found
    if (text[0] === '*') return { least: 0, most: Number.POSITIVE_INFINITY }
    if (text[0] === '+') return { least: 1, most: Number.POSITIVE_INFINITY }
    if (text[0] === '?') return { least: 0, most: 1 }
    const from = Number(least)
    if (comma === undefined) return { least: from, most: from }
    return { least: from, most: most === '' ? Number.POSITIVE_INFINITY : Number(most) }
  }

  #takes(char: string): boolean {
    if (this.#chars[this.#at] !== char) return false
    this.#at++
    return true
  }
}

/** A class of characters, which the engine itself judges: one at a time there is nothing to try twice. */
function classOf(source: string): PatternNode {
  const whole = new RegExp(`^(?:${source})$`, 'u')
  return { kind: 'character', is: char => whole.test(char), source }
}
