/** Parses regular expressions in the syntax of JavaScript with the flag `u`. */

export type RegexNode =
  | { readonly kind: 'character'; readonly matches: (char: string) => boolean; readonly source: string }
  | { readonly kind: 'sequence'; readonly parts: readonly RegexNode[] }
  | { readonly kind: 'either'; readonly branches: readonly RegexNode[] }
  | { readonly kind: 'times'; readonly body: RegexNode; readonly min: number; readonly max: number }
  | { readonly kind: 'look'; readonly isAhead: boolean; readonly isNegative: boolean; readonly body: RegexNode }
  | { readonly kind: 'start' | 'end' | 'edge' | 'inside' }

/** Returns the tree of a pattern. Undefined: it has a back reference, which is unsupported. */
export function parseRegex(pattern: string): RegexNode | undefined {
  // The rest of the parser relies on balanced brackets.
  new RegExp(pattern, 'u')
  const reader = new RegexParser([...pattern])
  const tree = reader.parseAlternatives()
  return reader.isSupported ? tree : undefined
}

class RegexParser {
  readonly #chars: readonly string[]
  #at = 0
  isSupported = true

  constructor(chars: readonly string[]) {
    this.#chars = chars
  }

  parseAlternatives(): RegexNode {
    const branches = [this.#parseSequence()]
    while (this.#consume('|')) branches.push(this.#parseSequence())
    return branches.length === 1 ? branches[0]! : { kind: 'either', branches }
  }

  #parseSequence(): RegexNode {
    const parts: RegexNode[] = []
    while (this.#at < this.#chars.length && this.#chars[this.#at] !== '|' && this.#chars[this.#at] !== ')') {
      const atom = this.#parseAtom()
      const quantifier = this.#parseQuantifier()
      parts.push(quantifier === undefined ? atom : { kind: 'times', body: atom, ...quantifier })
    }
    return parts.length === 1 ? parts[0]! : { kind: 'sequence', parts }
  }

  #parseAtom(): RegexNode {
    const char = this.#chars[this.#at++]!
    switch (char) {
      case '^':
        return { kind: 'start' }
      case '$':
        return { kind: 'end' }
      case '(':
        return this.#parseGroup()
      case '[': {
        const from = this.#at - 1
        while (this.#chars[this.#at] !== ']') this.#at += this.#chars[this.#at] === '\\' ? 2 : 1
        this.#at++
        return characterClass(this.#chars.slice(from, this.#at).join(''))
      }
      case '.':
        // Not a dot, which would be a character of this source.
        return characterClass('[^\\n\\r\\u2028\\u2029]')
      case '\\':
        return this.#parseEscape()
      default:
        return { kind: 'character', matches: one => one === char, source: char }
    }
  }

  #parseGroup(): RegexNode {
    let look: { isAhead: boolean; isNegative: boolean } | undefined
    if (this.#consume('?')) {
      const isBehind = this.#chars[this.#at] === '<' && /[=!]/.test(this.#chars[this.#at + 1]!)
      if (isBehind) this.#at++
      if (this.#consume('=')) look = { isAhead: !isBehind, isNegative: false }
      else if (this.#consume('!')) look = { isAhead: !isBehind, isNegative: true }
      else if (this.#consume('<')) while (!this.#consume('>')) this.#at++
      // Any other text switches flags.
      else if (!this.#consume(':')) this.isSupported = false
    }
    const body = this.parseAlternatives()
    this.#at++
    return look === undefined ? body : { kind: 'look', ...look, body }
  }

  #parseEscape(): RegexNode {
    const char = this.#chars[this.#at++]!
    if (char === 'b') return { kind: 'edge' }
    if (char === 'B') return { kind: 'inside' }
    if (char === 'k' || /[1-9]/.test(char)) {
      this.isSupported = false
      return { kind: 'sequence', parts: [] }
    }
    const rest = this.#chars.slice(this.#at, this.#at + 64).join('')
    const extraLength =
      char === 'p' || char === 'P' || (char === 'u' && rest[0] === '{')
        ? rest.indexOf('}') + 1
        : ({ u: /^[dD][89abAB]..\\u[dD][c-fC-F]/.test(rest) ? 10 : 4, x: 2, c: 1 }[char] ?? 0)
    this.#at += extraLength
    return characterClass(`\\${char}${rest.slice(0, extraLength)}`)
  }

  /** The quantifier of the part before. Greedy and lazy quantifiers fit the same texts. */
  #parseQuantifier(): { min: number; max: number } | undefined {
    const match = /^(?:[*+?]|\{(\d+)(,(\d*))?\})\??/.exec(this.#chars.slice(this.#at, this.#at + 48).join(''))
    if (match === null) return undefined
    this.#at += match[0].length
    const [text, least, comma, most] = match
    if (text[0] === '*') return { min: 0, max: Number.POSITIVE_INFINITY }
    if (text[0] === '+') return { min: 1, max: Number.POSITIVE_INFINITY }
    if (text[0] === '?') return { min: 0, max: 1 }
    const from = Number(least)
    if (comma === undefined) return { min: from, max: from }
    return { min: from, max: most === '' ? Number.POSITIVE_INFINITY : Number(most) }
  }

  #consume(char: string): boolean {
    if (this.#chars[this.#at] !== char) return false
    this.#at++
    return true
  }
}

/** A class of characters. The engine itself tests it: a single character needs no backtracking. */
function characterClass(source: string): RegexNode {
  const pattern = new RegExp(`^(?:${source})$`, 'u')
  return { kind: 'character', matches: char => pattern.test(char), source }
}
