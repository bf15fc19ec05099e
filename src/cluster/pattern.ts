/** Regular expressions as patterns of a schema: whether a text fits one, in bounded time, and texts that do. */
import { type PatternNode, parsePattern } from './pattern-syntax.ts'

/** Counts what is done, and ends it where it is too much. */
export type Spend = (steps: number) => void
/** A number from 0 to below the count. */
export type Draw = (count: number) => number

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const PRINTED = `${LETTERS}0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ -_.:/@,+%#!?&=*'()$;~"<>[]{}|^\`\\`
/** Where else a class may have its members: most scripts, some Chinese, Korean and faces, and what is not seen. */
const ELSEWHERE = [
  [0xa1, 0x3000],
  [0x3001, 0x3100],
  [0x4e00, 0x4e40],
  [0xac00, 0xac40],
  [0xfe00, 0xffff],
  [0x1f600, 0x1f640],
  [0, 0x20],
  [0x7f, 0xa1],
] as const
const MOST_MEMBERS = 256
/** How far lengths stray from the least where nothing is said of them. */
const STRAY = 12

/** A pattern of a schema. It may stand anywhere in a text, unless it says otherwise. */
export class Pattern {
  readonly source: string
  readonly #tree: PatternNode
  readonly #spend: Spend
  readonly #members = new Map<string, readonly string[]>()
  readonly #known = new Map<PatternNode, readonly [number, number]>()

  /** @throws SyntaxError for what is no regular expression; and where it is one that cannot be read */
  constructor(source: string, spend: Spend) {
    const tree = parsePattern(source)
    if (tree === undefined) throw new SyntaxError('references to groups and flags within are not read')
    this.source = source
    this.#tree = tree
    this.#spend = spend
  }

  /**
   * Whether a text fits. All ways through the pattern are followed at once, so no text takes longer than its length
   * times the pattern's, a few times over.
   */
  fits(text: string): boolean {
    const chars = [...text]
    return this.#ends(this.#tree, chars, new Uint8Array(chars.length + 1).fill(1)).includes(1)
  }

  /**
   * A text of so many characters that may well fit: what its looks to either side demand, nobody knows beforehand.
   *
   * @param turn of how many tries this is one; they go about it in different ways
   */
  text(draw: Draw, least: number, most: number, turn: number): string {
    const [shortest, longest] = this.#widths(this.#tree)
    const low = Math.max(shortest, Math.min(least, longest))
    const high = Math.max(low, Math.min(longest, most))
    const length = low + draw(Math.min(high - low, STRAY) + 1)
    const writing = { draw, isWide: turn % 2 === 1, looks: turn % 4 >= 2 }
    const text = this.#write(this.#tree, length, writing)
    const missing = least - text.length
    if (missing <= 0) return text
    this.#spend(missing)
    const more = (turn % 3 === 0 ? 'a' : ' a').repeat(missing).slice(0, missing)
    return turn % 8 < 4 ? text + more : more + text
  }

  /** Where ways through a part end that start where `starts` is 1. */
  #ends(node: PatternNode, chars: readonly string[], starts: Uint8Array): Uint8Array {
    this.#spend(1 + (chars.length >> 3))
    switch (node.kind) {
      case 'character': {
        const ends = new Uint8Array(starts.length)
        for (let at = 0; at < chars.length; at++) if (starts[at] === 1 && node.is(chars[at]!)) ends[at + 1] = 1
        return ends
      }
      case 'sequence':
        return node.parts.reduce((ends, part) => (ends.includes(1) ? this.#ends(part, chars, ends) : ends), starts)
      case 'either': {
        const ends = new Uint8Array(starts.length)
        for (const branch of node.branches) {
          for (const [at, is] of this.#ends(branch, chars, starts).entries()) if (is === 1) ends[at] = 1
        }
        return ends
      }
      case 'times':
        return this.#repeated(node, chars, starts)
      case 'look':
        return starts.map((is, at) => (is === 1 && this.#looks(node, chars, at) !== node.isNegative ? 1 : 0))
      case 'start':
        return starts.map((is, at) => (at === 0 ? is : 0))
      case 'end':
        return starts.map((is, at) => (at === chars.length ? is : 0))
      default: {
        const wanted = node.kind === 'edge'
        return starts.map((is, at) => (is === 1 && (isWord(chars[at - 1]) !== isWord(chars[at])) === wanted ? 1 : 0))
      }
    }
  }

  #repeated(
    { body, least, most }: PatternNode & { kind: 'times' },
    chars: readonly string[],
    starts: Uint8Array,
  ): Uint8Array {
    if (body.kind === 'character') return runs(body.is, least, most, chars, starts)
    let last = starts
    for (let nth = 0; nth < least; nth++) {
      const next = this.#ends(body, chars, last)
      const isSame = next.every((is, at) => is === last[at])
      last = next
      if (isSame) break
    }
    const ends = last.slice()
    for (let nth = least; nth < most && last.includes(1); nth++) {
      // Whence it went on already need not be tried again.
      last = this.#ends(body, chars, last).map((is, at) => (is === 1 && ends[at] === 0 ? 1 : 0))
      for (const [at, is] of last.entries()) if (is === 1) ends[at] = 1
    }
    return ends
  }

  #looks({ isAhead, body }: PatternNode & { kind: 'look' }, chars: readonly string[], at: number): boolean {
    const starts = new Uint8Array(chars.length + 1)
    if (isAhead) starts[at] = 1
    else starts.fill(1, 0, at + 1)
    const ends = this.#ends(body, chars, starts)
    return isAhead ? ends.includes(1) : ends[at] === 1
  }

  /** Characters of the shortest and the longest text, as far as that is said. */
  #widths(node: PatternNode): readonly [number, number] {
    const known = this.#known.get(node)
    if (known !== undefined) return known
    this.#spend(1)
    const widths = this.#measured(node)
    this.#known.set(node, widths)
    return widths
  }

  #measured(node: PatternNode): readonly [number, number] {
    switch (node.kind) {
      case 'character':
        return [1, 1]
      case 'sequence':
        return sums(node.parts.map(part => this.#widths(part)))
      case 'either': {
        const all = node.branches.map(branch => this.#widths(branch))
        return [all.reduce((min, [one]) => Math.min(min, one), Number.POSITIVE_INFINITY), largest(all)]
      }
      case 'times': {
        const [shortest, longest] = this.#widths(node.body)
        return [shortest * node.least, longest === 0 || node.most === 0 ? 0 : longest * node.most]
      }
      default:
        return [0, 0]
    }
  }

  #write(node: PatternNode, length: number, writing: Writing): string {
    this.#spend(1)
    switch (node.kind) {
      case 'character': {
        const members = this.#membersOf(node)
        const isMany = !writing.isWide && members.length > 64 && node.is('a') && node.is('z')
        return isMany ? LETTERS[writing.draw(26)]! : (members[writing.draw(members.length)] ?? '')
      }
      case 'sequence':
        return this.#row(node.parts, length, writing)
      case 'either': {
        const roomy = node.branches.filter(branch => {
          const [shortest, longest] = this.#widths(branch)
          return shortest <= length && length <= longest
        })
        const among = roomy.length > 0 ? roomy : node.branches
        return this.#write(among[writing.draw(among.length)]!, length, writing)
      }
      case 'times': {
        const [shortest, longest] = this.#widths(node.body)
        const fewest = Math.max(node.least, longest > 0 ? Math.ceil(length / longest) : 0)
        const room = shortest > 0 ? Math.floor(length / shortest) : Math.max(length, fewest)
        const count = Math.min(node.most, fewest + writing.draw(Math.max(1, Math.min(room - fewest, 3) + 1)))
        this.#spend(count)
        return this.#row(Array<PatternNode>(count).fill(node.body), length, writing)
      }
      case 'look': {
        const [shortest] = this.#widths(node.body)
        return writing.looks && !node.isNegative ? this.#write(node.body, shortest, writing) : ''
      }
      default:
        return ''
    }
  }

  /** Parts one after another, who share what length there is beyond their least. */
  #row(parts: readonly PatternNode[], length: number, writing: Writing): string {
    const widths = parts.map(part => this.#widths(part))
    let spare = Math.max(0, length - sums(widths)[0])
    const lengths = widths.map(([shortest]) => shortest)
    for (const [nth, [shortest, longest]] of widths.entries()) {
      const room = Math.min(longest - shortest, spare)
      if (room === 0) continue
      const more = writing.draw(room + 1)
      lengths[nth] = shortest + more
      spare -= more
    }
    for (let nth = widths.length - 1; nth >= 0 && spare > 0; nth--) {
      const more = Math.min(widths[nth]![1] - lengths[nth]!, spare)
      lengths[nth] = lengths[nth]! + more
      spare -= more
    }
    return parts.map((part, nth) => this.#write(part, lengths[nth]!, writing)).join('')
  }

  #membersOf({ source, is }: PatternNode & { kind: 'character' }): readonly string[] {
    const known = this.#members.get(source)
    if (known !== undefined) return known
    let members = [...source].length === 1 && is(source) ? [source] : [...PRINTED].filter(is)
    for (const [from, to] of ELSEWHERE) {
      for (let code = from; code < to && members.length === 0; code += MOST_MEMBERS) {
        const upTo = Math.min(to, code + MOST_MEMBERS)
        this.#spend(upTo - code)
        members = Array.from({ length: upTo - code }, (_, nth) => String.fromCodePoint(code + nth)).filter(is)
      }
    }
    this.#members.set(source, members)
    return members
  }
}

/** Where so many characters in a row end that are all of one class. */
function runs(
  is: (char: string) => boolean,
  least: number,
  most: number,
  chars: readonly string[],
  starts: Uint8Array,
): Uint8Array {
  const before = new Uint32Array(starts.length + 1)
  for (const [at, one] of starts.entries()) before[at + 1] = before[at]! + one
  const ends = new Uint8Array(starts.length)
  let from = 0
  for (let end = 0; end < ends.length; end++) {
    if (end > 0 && !is(chars[end - 1]!)) from = end
    const first = Math.max(from, end - most)
    const last = end - least
    if (last >= first && before[last + 1]! > before[first]!) ends[end] = 1
  }
  return ends
}

interface Writing {
  readonly draw: Draw
  /** Takes any character where many are allowed, in place of letters. */
  readonly isWide: boolean
  /** Writes what it says must come before or after, too. */
  readonly looks: boolean
}

function sums(widths: readonly (readonly [number, number])[]): [number, number] {
  return widths.reduce<[number, number]>(([a, b], [shortest, longest]) => [a + shortest, b + longest], [0, 0])
}

function largest(widths: readonly (readonly [number, number])[]): number {
  return widths.reduce((max, [, one]) => Math.max(max, one), 0)
}

function isWord(char: string | undefined): boolean {
  return char !== undefined && /^\w$/.test(char)
}
