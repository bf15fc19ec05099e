/** Mistakes in a scenario file, each with its line, its column and the nearest known word. */
import { isMap, LineCounter, type Node, type Pair, parseDocument, type Document as YamlDocument } from 'yaml'
import * as z from 'zod'
import { formatSuggestion, nearestWord } from '../../../lib/did-you-mean.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { allowedValuesOf, knownKeysAt, unwrapSchema, valueAt } from '../../../lib/zod-problems.ts'
import type { ItemProblem } from '../../explore/plan/plan-form.ts'

/** The mistakes in a file, one on each line of the message. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
}

export type Path = readonly (string | number)[]

/** Limits the list: a file with more mistakes is probably not a scenario. */
const MAX_LISTED_MISTAKES = 40

/** The mistakes of one file, in the order of its lines. */
export class MistakeList {
  readonly #name: string
  readonly #lines = new LineCounter()
  readonly #document: YamlDocument.Parsed
  #mistakes: readonly { readonly offset: number; readonly text: string }[] = []

  /** @param name the file's name in messages */
  constructor(text: string, name: string) {
    this.#name = name
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false })
  }

  /**
   * Returns the value of the file. Invalid YAML is reported by its first mistake only, because it may cause the others.
   *
   * @param noun what a file holds, as in `scenario`
   * @throws DocumentError for invalid YAML, and for too many aliases
   */
  read(noun: string): unknown {
    const [error] = this.#document.errors
    if (error?.code === 'MULTIPLE_DOCS') {
      this.addAt(error.pos[0], 'a second document begins here', `Put each ${noun} into its own file`)
    } else if (error) this.addAt(error.pos[0], error.message.split('\n')[0]!.replace(/\.$/, ''), 'Fix that line')
    this.throwIfAny()
    try {
      return this.#document.toJS({ maxAliasCount: LIMITS.scenarioAliases })
    } catch (cause) {
      this.addAt(0, (cause as Error).message.toLowerCase(), `Use at most ${LIMITS.scenarioAliases} aliases`)
      this.throwIfAny()
    }
  }

  add(path: Path, what: string, advice: string): void {
    this.addAt(this.#offsetOf(path), what, advice)
  }

  /** @param at where the paths begin. Default: at the whole file */
  addAll(mistakes: readonly ItemProblem[], at: Path = []): void {
    for (const { path, what, advice } of mistakes) this.add([...at, ...path], what, advice)
  }

  addAt(offset: number, what: string, advice: string): void {
    const { line, col } = this.#lines.linePos(offset)
    const text = `${this.#name}:${line}:${col}: ${what}. ${advice}${/[?.]$/.test(advice) ? '' : '.'}`
    this.#mistakes = [...this.#mistakes, { offset, text }]
  }

  /** @throws DocumentError if there are mistakes */
  throwIfAny(): void {
    if (this.#mistakes.length === 0) return
    const lines = this.#mistakes.toSorted((one, other) => one.offset - other.offset).map(({ text }) => text)
    const more = lines.length - MAX_LISTED_MISTAKES
    throw new DocumentError(
      [...lines.slice(0, MAX_LISTED_MISTAKES), ...(more > 0 ? [`and ${more} more`] : [])].join('\n'),
    )
  }

  /** Returns `line:column`. */
  formatPosition(path: Path): string {
    const { line, col } = this.#lines.linePos(this.#offsetOf(path))
    return `${line}:${col}`
  }

  /** Returns the offset of a path: of its key, or of the nearest node around it. */
  #offsetOf(path: Path): number {
    for (let length = path.length; length > 0; length--) {
      const holder = this.#document.getIn(path.slice(0, length - 1), true)
      const last = path[length - 1]
      if (isMap(holder)) {
        const pair = holder.items.find(({ key }) => String((key as { value?: unknown }).value ?? key) === String(last))
        const key = (pair as Pair<Node> | undefined)?.key
        if (key?.range) return key.range[0]
      }
      const node = this.#document.getIn(path.slice(0, length), true) as Node | undefined
      if (node?.range) return node.range[0]
    }
    return this.#document.contents?.range?.[0] ?? 0
  }
}

/** Converts the issues of a schema for the value at a path to mistakes. */
export function findMistakes(
  schema: z.ZodType,
  value: unknown,
  path: Path,
  issues: readonly z.core.$ZodIssue[],
): ItemProblem[] {
  const unknown = issues.flatMap(issue => unknownKeys(schema, value, path, issue))
  // A mistyped key is also a missing key: only the typo is reported.
  const meant = new Set(unknown.map(({ meant }) => meant))
  return issues.flatMap(issue => {
    if (issue.code === 'unrecognized_keys' || issue.code === 'invalid_key') {
      return unknown.filter(one => one.issue === issue)
    }
    const isMistyped = valueAt(value, issue.path as Path) === undefined && meant.has(issue.path.join('/'))
    return isMistyped ? [] : [toMistake(value, path, issue)]
  })
}

/** Returns the unknown keys of an issue, each with the path of the key that was probably meant. */
function unknownKeys(schema: z.ZodType, value: unknown, path: Path, issue: z.core.$ZodIssue) {
  const isKey = issue.code === 'invalid_key'
  if (!isKey && issue.code !== 'unrecognized_keys') return []
  const parentPath = (isKey ? issue.path.slice(0, -1) : issue.path) as Path
  const allowed = knownKeysAt(schema, value, parentPath)
  const keys = isKey ? [String(issue.path.at(-1))] : issue.keys
  const presentKeys = Object.keys(Object(valueAt(value, parentPath)))
  const unusedKeys = allowed.filter(name => !presentKeys.includes(name))
  return keys.map(key => {
    const meant = nearestWord(key, unusedKeys) ?? nearestWord(key, allowed)
    const isOperation = parentPath.at(-1) === 'do' || parentPath.at(-1) === 'get'
    const rule = issue.code === 'invalid_key' && allowed.length === 0 && `Give ${issue.issues[0]!.message}`
    const list = isOperation ? 'docs/endpoints.md lists the operations' : rule || `Keys are ${allowed.join(', ')}`
    const place = isKey ? undefined : placeOfKey(schema, key, parentPath)
    const advice = place ?? (meant ? `Did you mean '${meant}'?` : list)
    const what = `unknown ${isOperation && place === undefined ? 'operation' : 'key'} '${key}'`
    return {
      issue,
      meant: place === undefined && meant && [...parentPath, meant].join('/'),
      path: [...path, ...parentPath, key],
      what,
      advice,
    }
  })
}

/** Returns where an unknown key belongs: one level up, or below a key of the same map. Undefined: neither. */
function placeOfKey(schema: z.ZodType, key: string, parentPath: Path): string | undefined {
  if (!(schema instanceof z.ZodObject)) return undefined
  if (parentPath.length === 1) {
    return Object.hasOwn(schema.shape, key) ? `Move it up, beside '${parentPath[0]}'` : undefined
  }
  const owner = Object.entries(schema.shape).find(([, field]) => {
    const inner = unwrapSchema(field as z.ZodType)
    return inner instanceof z.ZodObject && Object.hasOwn(inner.shape, key)
  })
  return parentPath.length === 0 && owner !== undefined ? `Move it below '${owner[0]}'` : undefined
}

function toMistake(value: unknown, path: Path, issue: z.core.$ZodIssue): ItemProblem {
  const inner = issue.path as Path
  const at = [...path, ...inner]
  const found = valueAt(value, inner)
  const allowedValues = allowedValuesOf(issue)
  if (allowedValues !== undefined && found !== undefined) {
    const given = typeof found === 'string' ? found : JSON.stringify(found)
    const what = `invalid value '${given}'`
    const fallback = `Allowed values: ${allowedValues.join(', ')}`
    return { path: at, what, advice: formatSuggestion(given, allowedValues, fallback) }
  }
  const key = inner.at(-1)
  if (found === undefined) return { path: at.slice(0, -1), what: `'${String(key)}' is missing`, advice: 'Add it' }
  if (issue.code === 'invalid_type' && issue.expected === 'record' && (key === 'do' || key === 'get')) {
    const what = `'${key}': expected an operation with its input, received ${typeOf(found)}`
    return { path: at, what, advice: 'Give one, as in { getDeployment: { deploy_id: … } }' }
  }
  const named = key === undefined ? 'the file' : `'${String(key)}'`
  // A type that is checked by a function has its own message.
  if (issue.code === 'custom') {
    const given = typeof found === 'string' || typeof found === 'number' ? ` '${found}'` : ''
    return { path: at, what: `invalid value${given} of ${named}`, advice: `Give ${issue.message}` }
  }
  return { path: at, what: `${named}: ${describeIssue(issue, found)}`, advice: 'Fix it' }
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

/** Returns the text of an issue; of a union of types, it lists the types. */
function describeIssue(issue: z.core.$ZodIssue, found: unknown): string {
  const types = issue.code === 'invalid_union' ? issue.errors.map(([only]) => only) : []
  const names = types.flatMap(only => (only?.code === 'invalid_type' && only.path.length === 0 ? [only.expected] : []))
  if (names.length > 0 && names.length === types.length) {
    return `expected ${names.join(' or ')}, received ${typeOf(found)}`
  }
  return issue.message.replace(/^Invalid input: /, '')
}
