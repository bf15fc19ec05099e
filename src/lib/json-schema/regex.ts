/** Regular expressions of schemas: tests texts in bounded time, and generates texts. */
import { parseRegex, type RegexNode } from './regex-parser.ts'

/** Counts steps. Throws when there are too many. */
export type CountSteps = (steps: number) => void
/** Returns an integer from 0 to `count` - 1. */
export type DrawInteger = (count: number) => number

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const PRINTABLE = `${LETTERS}0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ -_.:/@,+%#!?&=*'()$;~"<>[]{}|^\`\\`
/**
 * Further ranges of characters to search for members of a class: most scripts, some Chinese, Korean, emoji and
 * invisible characters.
 */
const OTHER_RANGES = [
  [0xa1, 0x3000],
  [0x3001, 0x3100],
  [0x4e00, 0x4e40],
  [0xac00, 0xac40],
  [0xfe00, 0xffff],
  [0x1f600, 0x1f640],
  [0, 0x20],
  [0x7f, 0xa1],
] as const
const MAX_MEMBERS = 256
/** Largest difference from the minimum length when the length has no upper bound. */
const MAX_EXTRA_LENGTH = 12

/** A pattern of a schema. It is not anchored by default. */
export class RegexPattern {
  readonly source: string
  readonly #tree: RegexNode
  readonly #countSteps: CountSteps
  readonly #members = new Map<string, readonly string[]>()
  readonly #knownLengths = new Map<RegexNode, readonly [number, number]>()

  /** @throws SyntaxError for an invalid or unsupported regular expression */
  constructor(source: string, spend: CountSteps) {
    const tree = parseRegex(source)
    if (tree === undefined) throw new SyntaxError('references to groups and flags within are not read')
    this.source = source
    this.#tree = tree
    this.#countSteps = spend
  }

  /**
   * Returns whether a text matches. It follows all paths through the pattern at once, so the time is proportional to
   * the length of the text times the length of the pattern.
   */
  matches(generate: string): boolean {
    const chars = [...generate]
    return this.#endsOf(this.#tree, chars, new Uint8Array(chars.length + 1).fill(1)).includes(1)
  }

  /**
   * Returns a text of this length that probably fits. Lookaheads and lookbehinds are not taken into account.
   *
   * @param attempt number of the attempt. Attempts differ in their method.
   */
  text(draw: DrawInteger, minLength: number, maxLength: number, attempt: number): string {
    const [shortest, longest] = this.#lengthRange(this.#tree)
    const low = Math.max(shortest, Math.min(minLength, longest))
    const high = Math.max(low, Math.min(longest, maxLength))
    const length = low + draw(Math.min(high - low, MAX_EXTRA_LENGTH) + 1)
    const options = { draw, isWide: attempt % 2 === 1, includesLookarounds: attempt % 4 >= 2 }
    const text = this.#generateNode(this.#tree, length, options)
    const missingLength = minLength - text.length
    if (missingLength <= 0) return text
    this.#countSteps(missingLength)
    const padding = (attempt % 3 === 0 ? 'a' : ' a').repeat(missingLength).slice(0, missingLength)
    return attempt % 8 < 4 ? text + padding : padding + text
  }

  /** Returns the ends of the paths through a part that start where `starts` is 1. */
  #endsOf(node: RegexNode, chars: readonly string[], starts: Uint8Array): Uint8Array {
    this.#countSteps(1 + (chars.length >> 3))
    switch (node.kind) {
      case 'character': {
        const ends = new Uint8Array(starts.length)
        for (let at = 0; at < chars.length; at++) if (starts[at] === 1 && node.matches(chars[at]!)) ends[at + 1] = 1
        return ends
      }
      case 'sequence':
        return node.parts.reduce((ends, part) => (ends.includes(1) ? this.#endsOf(part, chars, ends) : ends), starts)
      case 'either': {
        const ends = new Uint8Array(starts.length)
        for (const branch of node.branches) {
          for (const [at, is] of this.#endsOf(branch, chars, starts).entries()) if (is === 1) ends[at] = 1
        }
        return ends
      }
      case 'times':
        return this.#endsOfRepetition(node, chars, starts)
      case 'look':
        return starts.map((is, at) => (is === 1 && this.#lookMatches(node, chars, at) !== node.isNegative ? 1 : 0))
      case 'start':
        return starts.map((is, at) => (at === 0 ? is : 0))
      case 'end':
        return starts.map((is, at) => (at === chars.length ? is : 0))
      default: {
        const isEdge = node.kind === 'edge'
        return starts.map((is, at) => (is === 1 && (isWord(chars[at - 1]) !== isWord(chars[at])) === isEdge ? 1 : 0))
      }
    }
  }

  #endsOfRepetition(
    { body, min, max }: RegexNode & { kind: 'times' },
    chars: readonly string[],
    starts: Uint8Array,
  ): Uint8Array {
    if (body.kind === 'character') return endsOfRuns(body.matches, min, max, chars, starts)
    let last = starts
    for (let nth = 0; nth < min; nth++) {
      const next = this.#endsOf(body, chars, last)
      const isSame = next.every((is, at) => is === last[at])
      last = next
      if (isSame) break
    }
    const ends = last.slice()
    for (let nth = min; nth < max && last.includes(1); nth++) {
      // Skip positions that were already visited.
      last = this.#endsOf(body, chars, last).map((is, at) => (is === 1 && ends[at] === 0 ? 1 : 0))
      for (const [at, is] of last.entries()) if (is === 1) ends[at] = 1
    }
    return ends
  }

  #lookMatches({ isAhead, body }: RegexNode & { kind: 'look' }, chars: readonly string[], at: number): boolean {
    const starts = new Uint8Array(chars.length + 1)
    if (isAhead) starts[at] = 1
    else starts.fill(1, 0, at + 1)
    const ends = this.#endsOf(body, chars, starts)
    return isAhead ? ends.includes(1) : ends[at] === 1
  }

  /** Returns the lengths of the shortest and the longest text. */
  #lengthRange(node: RegexNode): readonly [number, number] {
    const cached = this.#knownLengths.get(node)
    if (cached !== undefined) return cached
    this.#countSteps(1)
    const lengths = this.#measureLength(node)
    this.#knownLengths.set(node, lengths)
    return lengths
  }

  #measureLength(node: RegexNode): readonly [number, number] {
    switch (node.kind) {
      case 'character':
        return [1, 1]
      case 'sequence':
        return sumRanges(node.parts.map(part => this.#lengthRange(part)))
      case 'either': {
        const all = node.branches.map(branch => this.#lengthRange(branch))
        return [all.reduce((min, [one]) => Math.min(min, one), Number.POSITIVE_INFINITY), maxLength(all)]
      }
      case 'times': {
        const [shortest, longest] = this.#lengthRange(node.body)
        return [shortest * node.min, longest === 0 || node.max === 0 ? 0 : longest * node.max]
      }
      default:
        return [0, 0]
    }
  }

  #generateNode(node: RegexNode, length: number, options: GenerationOptions): string {
    this.#countSteps(1)
    switch (node.kind) {
      case 'character': {
        const members = this.#membersOf(node)
        const isMany = !options.isWide && members.length > 64 && node.matches('a') && node.matches('z')
        return isMany ? LETTERS[options.draw(26)]! : (members[options.draw(members.length)] ?? '')
      }
      case 'sequence':
        return this.#generateSequence(node.parts, length, options)
      case 'either': {
        const fitting = node.branches.filter(branch => {
          const [shortest, longest] = this.#lengthRange(branch)
          return shortest <= length && length <= longest
        })
        const candidates = fitting.length > 0 ? fitting : node.branches
        return this.#generateNode(candidates[options.draw(candidates.length)]!, length, options)
      }
      case 'times': {
        const [shortest, longest] = this.#lengthRange(node.body)
        const minCount = Math.max(node.min, longest > 0 ? Math.ceil(length / longest) : 0)
        const room = shortest > 0 ? Math.floor(length / shortest) : Math.max(length, minCount)
        const count = Math.min(node.max, minCount + options.draw(Math.max(1, Math.min(room - minCount, 3) + 1)))
        this.#countSteps(count)
        return this.#generateSequence(Array<RegexNode>(count).fill(node.body), length, options)
      }
      case 'look': {
        const [shortest] = this.#lengthRange(node.body)
        return options.includesLookarounds && !node.isNegative ? this.#generateNode(node.body, shortest, options) : ''
      }
      default:
        return ''
    }
  }

  /** Writes parts one after another. They share the length above their minimum. */
  #generateSequence(parts: readonly RegexNode[], length: number, options: GenerationOptions): string {
    const ranges = parts.map(part => this.#lengthRange(part))
    let spare = Math.max(0, length - sumRanges(ranges)[0])
    const lengths = ranges.map(([shortest]) => shortest)
    for (const [nth, [shortest, longest]] of ranges.entries()) {
      const room = Math.min(longest - shortest, spare)
      if (room === 0) continue
      const more = options.draw(room + 1)
      lengths[nth] = shortest + more
      spare -= more
    }
    for (let nth = ranges.length - 1; nth >= 0 && spare > 0; nth--) {
      const more = Math.min(ranges[nth]![1] - lengths[nth]!, spare)
      lengths[nth] = lengths[nth]! + more
      spare -= more
    }
    return parts.map((part, nth) => this.#generateNode(part, lengths[nth]!, options)).join('')
  }

  #membersOf({ source, matches }: RegexNode & { kind: 'character' }): readonly string[] {
    const cached = this.#members.get(source)
    if (cached !== undefined) return cached
    let members = [...source].length === 1 && matches(source) ? [source] : [...PRINTABLE].filter(matches)
    for (const [from, to] of OTHER_RANGES) {
      for (let code = from; code < to && members.length === 0; code += MAX_MEMBERS) {
        const upTo = Math.min(to, code + MAX_MEMBERS)
        this.#countSteps(upTo - code)
        members = Array.from({ length: upTo - code }, (_, nth) => String.fromCodePoint(code + nth)).filter(matches)
      }
    }
    this.#members.set(source, members)
    return members
  }
}

/** Returns the ends of sequences of characters of one class. */
function endsOfRuns(
  is: (char: string) => boolean,
  least: number,
  most: number,
  chars: readonly string[],
  starts: Uint8Array,
): Uint8Array {
  const countBefore = new Uint32Array(starts.length + 1)
  for (const [at, isStart] of starts.entries()) countBefore[at + 1] = countBefore[at]! + isStart
  const ends = new Uint8Array(starts.length)
  let runStart = 0
  for (let end = 0; end < ends.length; end++) {
    if (end > 0 && !is(chars[end - 1]!)) runStart = end
    const first = Math.max(runStart, end - most)
    const last = end - least
    if (last >= first && countBefore[last + 1]! > countBefore[first]!) ends[end] = 1
  }
  return ends
}

interface GenerationOptions {
  readonly draw: DrawInteger
  /** Whether to use any character instead of letters, if many are allowed. */
  readonly isWide: boolean
  /** Whether to write the texts of lookaheads and lookbehinds too. */
  readonly includesLookarounds: boolean
}

function sumRanges(widths: readonly (readonly [number, number])[]): [number, number] {
  return widths.reduce<[number, number]>(([a, b], [shortest, longest]) => [a + shortest, b + longest], [0, 0])
}

function maxLength(widths: readonly (readonly [number, number])[]): number {
  return widths.reduce((max, [, one]) => Math.max(max, one), 0)
}

function isWord(char: string | undefined): boolean {
  return char !== undefined && /^\w$/.test(char)
}
