/** Values that fit a JSON Schema, drawn from a key: what a model says that was told to answer by one. */
import { type Chance, type Key, purpose } from '../kernel/random.ts'
import { answerText } from './answers.ts'

export type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue }
export type JsonSchema = boolean | { readonly [keyword: string]: unknown }

const SHAPE = purpose('answer.shape')
/** How deep an answer goes where its schema refers to itself; beyond it everything optional is left out. */
const DEEPEST = 6

/** A schema that no answer can be made for: it contradicts itself, or says something that is not understood. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
  /** Where in the schema, as a JSON pointer. */
  readonly at: string
  constructor(at: string, message: string) {
    super(`${at === '' ? '#' : `#${at}`}: ${message}`)
    this.at = at
  }
}

/**
 * A value that fits a schema, the same for the same key.
 *
 * It understands types, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`, `prefixItems`, bounds,
 * `multipleOf`, lengths, `format`, plain `pattern`s, `anyOf`, `oneOf`, `allOf` and `$ref` within the schema.
 *
 * @throws SchemaError for what it cannot fit
 * @example answerFor({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }, chance, key)
 */
export function answerFor(schema: JsonSchema, chance: Chance, key: Key): JsonValue {
  return new Writer(schema, chance, key).value(schema, '', 0)
}

class Writer {
  readonly #root: JsonSchema
  readonly #chance: Chance
  readonly #key: Key
  #drawn = 0

  constructor(root: JsonSchema, chance: Chance, key: Key) {
    this.#root = root
    this.#chance = chance
    this.#key = key
  }

  value(given: JsonSchema, at: string, depth: number): JsonValue {
    if (given === true) return this.#words(3)
    if (given === false) throw new SchemaError(at, 'nothing fits the schema false')
    const schema = this.#flattened(given, at)
    if (schema.const !== undefined) return schema.const as JsonValue
    if (Array.isArray(schema.enum)) {
      if (schema.enum.length === 0) throw new SchemaError(at, 'enum is empty')
      return schema.enum[this.#below(schema.enum.length)] as JsonValue
    }
    const branches = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined
    if (branches !== undefined) return this.#oneOf(schema, branches, at, depth)
    const type = this.#typeOf(schema, depth)
    switch (type) {
      case 'object':
        return this.#object(schema, at, depth)
      case 'array':
        return this.#array(schema, at, depth)
      case 'string':
        return this.#string(schema, at)
      case 'integer':
      case 'number':
        return this.#number(schema, type, at)
      case 'boolean':
        return this.#below(2) === 1
      case 'null':
        return null
      default:
        throw new SchemaError(at, `there is no type ${JSON.stringify(type)}`)
    }
  }

  /** The schema with what it refers to and all of `allOf` in one. */
  #flattened(schema: { readonly [keyword: string]: unknown }, at: string, seen = 0): { [keyword: string]: unknown } {
    if (seen > 64) throw new SchemaError(at, '$ref leads in a circle')
    const { $ref, allOf, ...own } = schema
    let merged: { [keyword: string]: unknown } = own
    if (typeof $ref === 'string') {
      const target = this.#resolve($ref, at)
      if (target === false) throw new SchemaError(at, `nothing fits ${$ref}`)
      if (target !== true) merged = merge(this.#flattened(target, at, seen + 1), merged)
    }
    for (const part of (allOf as JsonSchema[] | undefined) ?? []) {
      if (part === false) throw new SchemaError(at, 'nothing fits the schema false')
      if (part !== true) merged = merge(merged, this.#flattened(part, at, seen + 1))
    }
    return merged
  }

  #resolve(ref: string, at: string): JsonSchema {
    if (!ref.startsWith('#')) throw new SchemaError(at, `$ref ${JSON.stringify(ref)} leads out of the schema`)
    let found: unknown = this.#root
    for (const step of ref.slice(1).split('/').slice(1)) {
      const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
      found = typeof found === 'object' && found !== null ? (found as Record<string, unknown>)[name] : undefined
    }
    if (found === undefined) throw new SchemaError(at, `$ref ${JSON.stringify(ref)} leads nowhere`)
    return found as JsonSchema
  }

  #oneOf(
    schema: { readonly [keyword: string]: unknown },
    branches: JsonSchema[],
    at: string,
    depth: number,
  ): JsonValue {
    const { anyOf: _, oneOf: __, ...rest } = schema
    if (branches.length === 0) throw new SchemaError(at, 'no branch to choose')
    // What refers to itself ends by the first branch that does not: null and plain types.
    const plain = branches.filter(
      branch => typeof branch !== 'object' || !/object|array|\$ref/.test(JSON.stringify(branch)),
    )
    const choices = depth >= DEEPEST && plain.length > 0 ? plain : branches
    const chosen = choices[this.#below(choices.length)]!
    if (typeof chosen === 'boolean') return this.value(chosen, at, depth)
    return this.value(merge(rest, this.#flattened(chosen, at)), at, depth)
  }

  #typeOf(schema: { readonly [keyword: string]: unknown }, depth: number): unknown {
    const { type } = schema
    if (Array.isArray(type)) {
      const simple = type.filter(one => one !== 'object' && one !== 'array')
      const choices = depth >= DEEPEST && simple.length > 0 ? simple : type
      return choices[this.#below(choices.length)]
    }
    if (type !== undefined) return type
    if (schema.properties !== undefined || schema.required !== undefined) return 'object'
    if (schema.items !== undefined || schema.prefixItems !== undefined) return 'array'
    if (schema.minimum !== undefined || schema.maximum !== undefined) return 'number'
    return 'string'
  }

  #object(schema: { readonly [keyword: string]: unknown }, at: string, depth: number): JsonValue {
    const properties = (schema.properties ?? {}) as Record<string, JsonSchema>
    const required = new Set((schema.required ?? []) as string[])
    const least = (schema.minProperties as number | undefined) ?? 0
    const most = (schema.maxProperties as number | undefined) ?? Number.POSITIVE_INFINITY
    const found: Record<string, JsonValue> = {}
    const names = [...new Set([...Object.keys(properties), ...required])]
    let optional = Math.min(most, names.length) - required.size
    for (const name of names) {
      // A model that is asked by a schema fills in what it can, down to where it would never end.
      const wanted = required.has(name) || (depth < DEEPEST && optional-- > 0)
      if (!wanted) continue
      const inner = properties[name] ?? ((schema.additionalProperties as JsonSchema | undefined) || true)
      if (depth > 3 * DEEPEST) throw new SchemaError(at, 'it requires itself without end')
      Object.defineProperty(found, name, {
        value: this.value(inner, `${at}/properties/${name}`, depth + 1),
        ...{ enumerable: true, configurable: true, writable: true },
      })
    }
    const more = schema.additionalProperties as JsonSchema | undefined
    for (let nth = 1; Object.keys(found).length < least; nth++) {
      if (more === false) throw new SchemaError(at, `minProperties is ${least}, and it has fewer properties`)
      found[`key_${nth}`] = this.value(more ?? true, `${at}/additionalProperties`, depth + 1)
    }
    // A map without named properties says something all the same.
    if (names.length === 0 && least === 0 && most > 0 && typeof more === 'object' && depth < DEEPEST) {
      found[this.#words(1).toLowerCase()] = this.value(more, `${at}/additionalProperties`, depth + 1)
    }
    return found
  }

  #array(schema: { readonly [keyword: string]: unknown }, at: string, depth: number): JsonValue {
    const first = (schema.prefixItems ?? []) as JsonSchema[]
    const least = (schema.minItems as number | undefined) ?? 0
    const most = (schema.maxItems as number | undefined) ?? Number.POSITIVE_INFINITY
    const items = schema.items as JsonSchema | undefined
    const usual = depth >= DEEPEST ? 0 : first.length + (items === false ? 0 : 1 + this.#below(3))
    const length = Math.min(most, Math.max(least, usual))
    if (least > most) throw new SchemaError(at, `minItems is ${least} and maxItems ${most}`)
    const found: JsonValue[] = []
    const texts = new Set<string>()
    for (let tries = 0; found.length < length; tries++) {
      const inner = first[found.length] ?? items ?? true
      if (inner === false) break
      const value = this.value(inner, `${at}/items`, depth + 1)
      const text = JSON.stringify(value)
      if (schema.uniqueItems === true && texts.has(text)) {
        if (tries < 200) continue
        if (found.length >= least) break
        throw new SchemaError(at, `there are no ${least} different items`)
      }
      texts.add(text)
      found.push(value)
    }
    return found
  }

  #number(schema: { readonly [keyword: string]: unknown }, type: 'integer' | 'number', at: string): number {
    const step = (schema.multipleOf as number | undefined) ?? (type === 'integer' ? 1 : 0.5)
    const over = schema.exclusiveMinimum as number | undefined
    const under = schema.exclusiveMaximum as number | undefined
    let low = (schema.minimum as number | undefined) ?? Number.NEGATIVE_INFINITY
    let high = (schema.maximum as number | undefined) ?? Number.POSITIVE_INFINITY
    if (over !== undefined) low = Math.max(low, over)
    if (under !== undefined) high = Math.min(high, under)
    if (low === Number.NEGATIVE_INFINITY) low = high === Number.POSITIVE_INFINITY ? 0 : high - 100 * step
    if (high === Number.POSITIVE_INFINITY) high = low + 100 * step
    let first = Math.ceil(low / step)
    let last = Math.floor(high / step)
    if (over !== undefined && first * step <= over) first++
    if (under !== undefined && last * step >= under) last--
    if (type === 'integer' && !Number.isInteger(step)) throw new SchemaError(at, 'multipleOf of an integer is none')
    if (first > last) {
      // Between two steps of one half there still are numbers.
      if (type === 'number' && schema.multipleOf === undefined && low < high) return (low + high) / 2
      if (type === 'number' && schema.multipleOf === undefined && low === high && over !== low && under !== low)
        return low
      throw new SchemaError(at, `no ${type} lies within its bounds`)
    }
    return (first + this.#below(Math.min(last - first + 1, 1_000_000))) * step
  }

  #string(schema: { readonly [keyword: string]: unknown }, at: string): string {
    const least = (schema.minLength as number | undefined) ?? 0
    const most = (schema.maxLength as number | undefined) ?? Number.POSITIVE_INFINITY
    if (least > most) throw new SchemaError(at, `minLength is ${least} and maxLength ${most}`)
    const { pattern, format } = schema
    if (typeof pattern === 'string') return this.#matching(pattern, least, most, at)
    const formatted = typeof format === 'string' ? this.#formatted(format) : undefined
    if (formatted !== undefined) return formatted
    let text = this.#words(2 + this.#below(4)).replace(/\.$/, '')
    while (text.length < least) text += ` ${this.#words(4).toLowerCase()}`
    if (text.length <= most) return text
    const cut = text.slice(0, most).trimEnd()
    return cut.padEnd(least, 'a')
  }

  #formatted(format: string): string | undefined {
    const two = (below: number, from = 0) => String(from + this.#below(below)).padStart(2, '0')
    const day = () => `2026-${two(12, 1)}-${two(28, 1)}`
    const time = () => `${two(24)}:${two(60)}:${two(60)}Z`
    const word = () => this.#words(2).split(/\W/)[0]!.toLowerCase()
    switch (format) {
      case 'date-time':
        return `${day()}T${time()}`
      case 'date':
        return day()
      case 'time':
        return time()
      case 'duration':
        return `PT${1 + this.#below(59)}M`
      case 'email':
        return `${word()}@example.com`
      case 'hostname':
        return `${word()}.example.com`
      case 'ipv4':
        return `192.0.2.${1 + this.#below(254)}`
      case 'ipv6':
        return `2001:db8::${(1 + this.#below(65_534)).toString(16)}`
      case 'uri':
      case 'uri-reference':
      case 'url':
        return `https://example.com/${word()}`
      case 'uuid': {
        const hex = this.#chance.hex(30, this.#key, SHAPE + ++this.#drawn)
        return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(12, 15)}-a${hex.slice(15, 18)}-${hex.slice(18, 30)}`
      }
      default:
        return undefined
    }
  }

  /** A text that a plain pattern takes: characters, classes, groups, alternatives and counts. */
  #matching(pattern: string, least: number, most: number, at: string): string {
    let expression: RegExp
    try {
      expression = new RegExp(pattern, 'u')
    } catch {
      throw new SchemaError(at, `pattern ${JSON.stringify(pattern)} is no regular expression`)
    }
    for (let tries = 0; tries < 64; tries++) {
      const text = new PatternWriter(pattern, below => this.#below(below)).text()
      const padded = text === undefined || pattern.endsWith('$') ? text : text.padEnd(least, 'a')
      if (padded !== undefined && padded.length >= least && padded.length <= most && expression.test(padded))
        return padded
    }
    throw new SchemaError(at, `no text is known that fits the pattern ${JSON.stringify(pattern)}`)
  }

  #below(count: number): number {
    return this.#chance.integer(count, this.#key, SHAPE, this.#drawn++)
  }

  #words(count: number): string {
    const key = this.#chance.key('answer.words', this.#chance.hex(16, this.#key, SHAPE + ++this.#drawn))
    return answerText(this.#chance, key, count).replace(/\.$/, '')
  }
}

function merge(
  one: { readonly [keyword: string]: unknown },
  other: { readonly [keyword: string]: unknown },
): { [keyword: string]: unknown } {
  const merged: { [keyword: string]: unknown } = { ...one, ...other }
  if (one.properties && other.properties) merged.properties = { ...one.properties, ...other.properties }
  if (Array.isArray(one.required) && Array.isArray(other.required)) {
    merged.required = [...new Set([...one.required, ...other.required])]
  }
  for (const [keyword, choose] of TIGHTER) {
    const [a, b] = [one[keyword], other[keyword]]
    if (typeof a === 'number' && typeof b === 'number') merged[keyword] = choose(a, b)
  }
  return merged
}

const TIGHTER = [
  ...['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'].map(word => [word, Math.max] as const),
  ...['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'].map(word => [word, Math.min] as const),
]

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const CLASSES: Readonly<Record<string, string>> = { d: '0123456789', w: `${LETTERS}0123456789_`, s: ' ' }

/** Writes a text by a regular expression; undefined where it says something that this does not read. */
class PatternWriter {
  readonly #pattern: string
  readonly #below: (count: number) => number
  #at = 0
  #isRead = true

  constructor(pattern: string, below: (count: number) => number) {
    this.#pattern = pattern
    this.#below = below
  }

  text(): string | undefined {
    const text = this.#alternatives()
    return this.#isRead && this.#at === this.#pattern.length ? text : undefined
  }

  #alternatives(): string {
    const found = [this.#sequence()]
    while (this.#pattern[this.#at] === '|') {
      this.#at++
      found.push(this.#sequence())
    }
    return found[this.#below(found.length)]!
  }

  #sequence(): string {
    let text = ''
    while (this.#at < this.#pattern.length && this.#isRead) {
      const char = this.#pattern[this.#at]!
      if (char === '|' || char === ')') break
      const from = this.#at
      const one = this.#atom()
      const end = this.#at
      const times = this.#count()
      const after = this.#at
      // Each repetition is written anew, so that a digit repeated is not the same digit.
      for (let nth = 0; nth < times; nth++) {
        if (nth === 0) text += one
        else {
          this.#at = from
          text += this.#atom()
        }
      }
      this.#at = Math.max(end, after)
    }
    return text
  }

  #atom(): string {
    const char = this.#pattern[this.#at++]!
    if (char === '^' || char === '$') return ''
    if (char === '.') return LETTERS[this.#below(26)]!
    if (char === '(') {
      if (this.#pattern.startsWith('?:', this.#at)) this.#at += 2
      else if (this.#pattern[this.#at] === '?') this.#isRead = false
      const text = this.#alternatives()
      if (this.#pattern[this.#at++] !== ')') this.#isRead = false
      return text
    }
    if (char === '[') return this.#oneOfClass()
    if (char !== '\\') return char
    const escaped = this.#pattern[this.#at++] ?? ''
    const known = CLASSES[escaped]
    if (known !== undefined) return known[this.#below(known.length)]!
    if (/[A-Za-z0-9]/.test(escaped)) this.#isRead = false
    return escaped
  }

  #oneOfClass(): string {
    let members = ''
    if (this.#pattern[this.#at] === '^') this.#isRead = false
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== ']') {
      let char = this.#pattern[this.#at++]!
      if (char === '\\') {
        char = this.#pattern[this.#at++] ?? ''
        const known = CLASSES[char]
        if (known !== undefined) {
          members += known
          continue
        }
      }
      const upTo = this.#pattern[this.#at + 1]
      if (this.#pattern[this.#at] === '-' && upTo !== undefined && upTo !== ']') {
        const [first, last] = [char.charCodeAt(0), Math.min(upTo.charCodeAt(0), char.charCodeAt(0) + 255)]
        for (let code = first; code <= last; code++) members += String.fromCharCode(code)
        this.#at += 2
      } else members += char
    }
    this.#at++
    if (members === '') this.#isRead = false
    return members[this.#below(Math.max(1, members.length))] ?? ''
  }

  #count(): number {
    const rest = this.#pattern.slice(this.#at)
    const lazy = (length: number) => {
      this.#at += length
      if (this.#pattern[this.#at] === '?') this.#at++
    }
    if (rest[0] === '?') {
      lazy(1)
      return this.#below(2)
    }
    if (rest[0] === '*' || rest[0] === '+') {
      lazy(1)
      return (rest[0] === '+' ? 1 : 0) + this.#below(6)
    }
    const counted = /^\{(\d+)(,(\d*))?\}/.exec(rest)
    if (counted === null) return 1
    lazy(counted[0].length)
    const least = Math.min(1000, Number(counted[1]))
    if (counted[2] === undefined) return least
    const most = counted[3] === '' ? least + 6 : Math.min(1000, Number(counted[3]))
    return least + this.#below(Math.max(1, most - least + 1))
  }
}
