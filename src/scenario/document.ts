/** Reads scenarios from YAML and JSON: what is wrong is said with its line, its column and the nearest word. */
import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isMap, LineCounter, type Node, type Pair, parseDocument, type Document as YamlDocument } from 'yaml'
import * as z from 'zod'
import { openFixture, openProfile } from '#fixture-files'
import { documented, operations } from '../api/index.ts'
import { createApi } from '../api/serve-request.ts'
import { JOURNAL_KINDS } from '../control/kinds.ts'
import { isDuration } from '../faults/fields.ts'
import { demandRule, FaultError } from '../faults/rule.ts'
import { micros } from '../kernel/duration.ts'
import { nearest } from '../kernel/nearest.ts'
import { type ProfileInput, underWeather } from '../store/profile.ts'
import { beside } from './beside.ts'
import { asSent, INPUTS, isCertain, isReference } from './document-input.ts'
import {
  CountOf,
  EventFields,
  EventKind,
  LeadsTo,
  ScenarioDocument,
  STEPS,
  type StepKind,
  VerbFault,
  WireFault,
} from './document-schema.ts'

/** A step as it stands in the file, and where. */
export interface DocumentStep {
  readonly kind: StepKind
  readonly body: Readonly<Record<string, unknown>>
  /** `line:column` */
  readonly place: string
  /** Of `at` and `every`: the steps by their moment. */
  readonly planned: Readonly<Record<string, readonly DocumentStep[]>>
}

export interface ScenarioData extends Omit<z.output<typeof ScenarioDocument>, 'steps'> {
  readonly steps: readonly DocumentStep[]
}

/** A mistake in a file, with its place. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
}

/** Most bytes of a file: far beyond a scenario, and far below what a reader of YAML can be made to choke on. */
const MOST_BYTES = 256 * 1024
/** Most uses of anchors: a few lines of them can stand for gigabytes. */
const MOST_ALIASES = 50

type Path = readonly (string | number)[]

/**
 * Reads a scenario from a YAML or JSON file.
 *
 * @param name what the file is called in errors
 * @throws DocumentError for the first mistake: `name:line:column: what is wrong. What to do.`
 */
export function readDocument(file: string, name: string): ScenarioData {
  if (statSync(file).size > MOST_BYTES) {
    throw new DocumentError(`${name}: it is larger than ${MOST_BYTES / 1024} KiB. Split it into several scenarios.`)
  }
  return new Reader(readFileSync(file, 'utf8'), name, dirname(file)).read()
}

class Reader {
  readonly #name: string
  readonly #lines = new LineCounter()
  readonly #document: YamlDocument.Parsed
  readonly #home: string
  #neighbours = true

  /** @param home the folder that the file lies in */
  constructor(text: string, name: string, home: string) {
    this.#name = name
    this.#home = home
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false })
  }

  read(): ScenarioData {
    const [error] = this.#document.errors
    if (error?.code === 'MULTIPLE_DOCS') {
      this.#fail(error.pos[0], 'a second document begins here', 'Keep one scenario a file')
    }
    if (error) this.#fail(error.pos[0], error.message.split('\n')[0]!.replace(/\.$/, ''), 'Mend that line')
    let value: unknown
    try {
      value = this.#document.toJS({ maxAliasCount: MOST_ALIASES })
    } catch (cause) {
      this.#fail(0, (cause as Error).message.toLowerCase(), `Use at most ${MOST_ALIASES} aliases`)
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#fail(0, 'the file holds no scenario', 'Give a map of title, steps and what else docs/scenarios.md has')
    }
    // The steps each by their own kind, or a mistake in one would be told as a mistake against all kinds.
    const { steps: _, ...top } = ScenarioDocument.shape
    this.#demand(z.strictObject({ ...top, steps: z.array(z.unknown()).min(1) }), value, [])
    const { steps, ...rest } = value as z.output<typeof ScenarioDocument> & { steps: unknown[] }
    this.#neighbours = rest.given?.documentedOnly !== true
    if (rest.given !== undefined) this.#demandWorld(rest.given)
    for (const [i, rule] of (rest.given?.faults ?? []).entries()) this.#demandRule(rule, ['given', 'faults', i])
    const saved: string[] = []
    return { ...rest, steps: this.#steps(steps, ['steps'], saved) }
  }

  #steps(value: unknown, path: Path, saved: string[]): DocumentStep[] {
    if (!Array.isArray(value)) return this.#failAt(path, 'steps are a list', 'Begin each with a dash')
    return value.map((step, i) => this.#step(step, [...path, i], saved))
  }

  #step(value: unknown, path: Path, saved: string[]): DocumentStep {
    const kinds = Object.keys(STEPS) as StepKind[]
    const keys = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
    const found = kinds.filter(kind => keys.includes(kind))
    const [kind] = found
    if (kind === undefined) {
      const hints = keys.map(key => nearest(key, kinds))
      const meant = hints.find(hint => hint !== undefined)
      const stranger = meant === undefined ? keys[0] : keys[hints.indexOf(meant)]
      const what = stranger === undefined ? 'a step is a map' : `there is no step '${stranger}'`
      this.#failAt(
        stranger === undefined ? path : [...path, stranger],
        what,
        meant ? `Did you mean '${meant}'?` : `Steps are ${kinds.join(', ')}`,
      )
    }
    if (found.length > 1) {
      this.#failAt([...path, found[1]!], `one step has both '${kind}' and '${found[1]}'`, 'Make two steps of it')
    }
    const body = value as Record<string, unknown>
    const inner = kind === 'at' || kind === 'every' ? (body[kind] as Record<string, unknown>) : undefined
    // Their steps are looked at one by one.
    this.#demand(narrowed(kind, body), inner === undefined ? body : { ...body, [kind]: emptied(inner) }, path)
    this.#demandCall(kind, body, path)
    if (kind === 'fault' && isRule(body.fault)) this.#demandRule(body.fault, [...path, kind])
    this.#demandReferences(inner === undefined ? body : { ...body, [kind]: {} }, path, saved)
    if (typeof body.as === 'string') saved.push(body.as)
    for (const when of Object.keys(inner ?? {})) this.#demandMoment(kind, when, [...path, kind, when])
    const planned = Object.entries(inner ?? {}).map(([when, steps]) => [
      when,
      this.#steps(steps, [...path, kind, when], saved),
    ])
    return { kind, body, place: this.#placeOf(path), planned: Object.fromEntries(planned) }
  }

  /** An operation and its input are a map of one key. */
  #demandCall(kind: StepKind, body: Record<string, unknown>, path: Path): void {
    const at = kind === 'do' ? ['do'] : LOOKING.includes(kind) ? [kind, 'get'] : undefined
    if (at === undefined) return
    const call = at.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], body)
    const names = Object.keys(call as object)
    if (names.length !== 1) {
      this.#failAt(
        [...path, ...at],
        `it names ${names.length} operations`,
        'Give one, as in getDeployment: { deploy_id: … }',
      )
    }
    const [name] = names as [string]
    const input = (call as Record<string, unknown>)[name]
    if (isReference(input)) return
    const here = [...path, ...at, name]
    if (Object.hasOwn(INPUTS, name)) this.#demandInput(name, input, here, body.refused !== undefined)
    else if (NAMING.includes(name) && (typeof input !== 'string' || input === '')) {
      this.#failAt(here, `'${name}' names nothing`, `Give a name or an id, as in ${name}: …`)
    } else if (!NAMING.includes(name) && name !== 'value' && input !== null) {
      this.#failAt(here, `'${name}' takes nothing`, `Leave what is behind it out`)
    }
  }

  /** The input of an operation, as far as it can be judged before the step is played. */
  #demandInput(operation: string, given: unknown, path: Path, isRefused: boolean): void {
    const input = given ?? {}
    if (typeof input !== 'object' || Array.isArray(input)) {
      this.#failAt(path, `what '${operation}' takes is a map`, 'Give its fields by their names')
    }
    const sent = asSent(operation, input as Record<string, unknown>)
    this.#demand(INPUTS[operation]!, sent, path, issue =>
      isCertain(issue, valueAt(sent, issue.path as Path), isRefused),
    )
  }

  /** The key of a planned step: how long from now, or how often. */
  #demandMoment(kind: StepKind, when: string, path: Path): void {
    if (isDuration(when) && (kind === 'at' || micros(when) > 0)) return
    if (kind === 'at' && TIME.test(when) && Number.isFinite(Date.parse(when))) return
    const advice =
      kind === 'at'
        ? "Give a duration from now, as in '5m', or a time of the world, as in '2026-01-01T01:00:00Z'"
        : "Give a duration above 0, as in '1h'"
    this.#failAt(path, `'${when}' is no ${kind === 'at' ? 'moment' : 'interval'}`, advice)
  }

  /** That there are such a fixture, profile and weather. */
  #demandWorld({ fixtures, profile, weather }: NonNullable<ScenarioData['given']>): void {
    if (typeof fixtures === 'string') {
      try {
        openFixture(beside(fixtures, this.#home))
      } catch (error) {
        this.#failWith(['given', 'fixtures'], (error as Error).message.replace(/^Failed to read /, ''))
      }
    }
    const source = beside(profile, this.#home)
    if (typeof source === 'string') {
      const found = openProfile(source)
      if ('problem' in found) this.#failWith(['given', 'profile'], found.problem)
    }
    if (weather === undefined) return
    try {
      underWeather(source as ProfileInput, { weather })
    } catch (error) {
      // What is wrong with a profile is told by who reads it.
      if (!(error instanceof RangeError)) return
      const [, advice] = /: (.*)$/s.exec(error.message)!
      this.#failAt(['given', 'weather'], `there is no weather '${weather}'`, upperFirst(advice!))
    }
  }

  /** A message of somebody else, as what is wrong and what to do. */
  #failWith(path: Path, message: string): never {
    const end = message.search(/\. (?=[A-Z'])/)
    return this.#failAt(path, end < 0 ? message : message.slice(0, end), end < 0 ? 'Mend it' : message.slice(end + 2))
  }

  /** What of a rule its schema cannot say: that there is such an operation, such a kind of event. */
  #demandRule(rule: unknown, path: Path): void {
    const { operationOf } = createApi({ neighbours: this.#neighbours })
    const around = { operations: this.#neighbours ? operations : documented, operationOf, kinds: JOURNAL_KINDS }
    try {
      demandRule(rule, around)
    } catch (error) {
      if (!(error instanceof FaultError)) throw error
      this.#failWith([...path, ...(error.path as Path)], error.reason)
    }
  }

  /** Every `${name…}` has to be saved by an earlier step. */
  #demandReferences(value: unknown, path: Path, saved: readonly string[]): void {
    if (typeof value === 'string') {
      for (const [whole, name] of value.matchAll(/\$\{\s*([\w$]*)[^}]*\}/g)) {
        if (saved.includes(name!)) continue
        const meant = nearest(name!, saved)
        const advice = meant
          ? `Did you mean '${meant}'?`
          : saved.length > 0
            ? `Saved so far: ${saved.join(', ')}`
            : "Save an answer with 'as: name' first"
        this.#failAt(path, `${whole} names nothing that an earlier step saved`, advice)
      }
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        this.#demandReferences(item, [...path, Array.isArray(value) ? Number(key) : key], saved)
      }
    }
  }

  #demand(schema: z.ZodObject, value: unknown, path: Path, counts = (_: z.core.$ZodIssue) => true): void {
    const issues = schema.safeParse(value).error?.issues.filter(counts) ?? []
    if (issues.length === 0) return
    // A word that is mistyped is lacking as well, and the mistyping is what to mend.
    const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
    const at = [...path, ...(issue!.path as Path)]
    if (issue!.code === 'unrecognized_keys') {
      const [key] = issue!.keys
      this.#unknownKey(key!, allowedAt(schema, value, issue!.path as Path), [...at, key!])
    }
    if (issue!.code === 'invalid_key') {
      const key = String(issue!.path.at(-1))
      this.#unknownKey(key, allowedAt(schema, value, issue!.path.slice(0, -1) as Path), at)
    }
    const missing = valueAt(value, issue!.path as Path) === undefined
    const words = wordsOf(issue!)
    if (words !== undefined && !missing) {
      const found = String(valueAt(value, issue!.path as Path))
      const meant = nearest(found, words)
      this.#failAt(
        at,
        `'${found}' is none of the words there are`,
        meant ? `Did you mean '${meant}'?` : `Words are ${words.join(', ')}`,
      )
    }
    const key = issue!.path.at(-1)
    if (missing) this.#failAt(at.slice(0, -1), `'${String(key)}' is missing`, 'Add it')
    const named = key === undefined ? 'the file' : `'${String(key)}'`
    // A type that is judged by a function is told in the function's own words.
    if (issue!.code === 'custom') this.#failAt(at, `${named} is no such value`, `Give ${issue!.message}`)
    this.#failAt(at, `${named}: ${saidOf(issue!, valueAt(value, issue!.path as Path))}`, 'Mend it')
  }

  #unknownKey(key: string, allowed: readonly string[], path: Path): never {
    const meant = nearest(key, allowed)
    const list = allowed.length > 20 ? 'docs/endpoints.md lists the operations' : `Keys are ${allowed.join(', ')}`
    return this.#failAt(path, `there is no key '${key}' here`, meant ? `Did you mean '${meant}'?` : list)
  }

  #failAt(path: Path, what: string, advice: string): never {
    return this.#fail(this.#offsetOf(path), what, advice)
  }

  #fail(offset: number, what: string, advice: string): never {
    const { line, col } = this.#lines.linePos(offset)
    throw new DocumentError(`${this.#name}:${line}:${col}: ${what}. ${advice}${/[?.]$/.test(advice) ? '' : '.'}`)
  }

  #placeOf(path: Path): string {
    const { line, col } = this.#lines.linePos(this.#offsetOf(path))
    return `${line}:${col}`
  }

  /** Where a path begins: its key where it has one, else the nearest thing around it. */
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

/** Looks beside the operations that name what they look at. */
const NAMING: readonly string[] = ['cost', 'rent', 'node', 'nodeOf', 'fault']

/** A time of the world. */
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)$/i

/** Steps that look at something. */
const LOOKING: readonly StepKind[] = ['expect', 'until', 'always', 'never']

/** Whether a fault is a rule of the wire; else it is a verb of the world. */
export function isRule(fault: unknown): boolean {
  return typeof fault === 'object' && fault !== null && ('on' in fault || 'fault' in fault)
}

/** The schema of a step for what stands there: a mistake in one of several forms is told as one in that form. */
function narrowed(kind: StepKind, body: Record<string, unknown>): z.ZodObject {
  const part = (typeof body[kind] === 'object' && body[kind] !== null ? body[kind] : {}) as Record<string, unknown>
  const event = (name: string) => (typeof part[name] === 'object' && part[name] !== null ? EventFields : EventKind)
  switch (kind) {
    case 'fault':
      return z.strictObject({ fault: isRule(body.fault) ? WireFault : VerbFault })
    case 'leadsTo':
      return z.strictObject({ leadsTo: LeadsTo.extend({ event: event('event'), to: event('to') }) })
    case 'countOf':
      return z.strictObject({ countOf: CountOf.extend({ event: event('event') }) })
    default:
      return STEPS[kind]
  }
}

/** The words that would do, where only words do. */
function wordsOf(issue: z.core.$ZodIssue): string[] | undefined {
  if (issue.code === 'invalid_value') return issue.values.map(String)
  const words = issue.code === 'invalid_union' && 'options' in issue ? issue.options : undefined
  return Array.isArray(words) ? words.map(String) : undefined
}

/** Names that may stand at a path of a schema. */
function allowedAt(schema: z.ZodType, value: unknown, path: Path): string[] {
  let at: unknown = opened(schema, value)
  for (const [i, step] of path.entries()) {
    at =
      at instanceof z.ZodObject
        ? at.shape[String(step)]
        : at instanceof z.ZodRecord
          ? at.valueType
          : at instanceof z.ZodArray
            ? at.element
            : undefined
    at = opened(at, valueAt(value, path.slice(0, i + 1)))
  }
  if (at instanceof z.ZodObject) return Object.keys(at.shape)
  return at instanceof z.ZodRecord && at.keyType instanceof z.ZodEnum ? (at.keyType.options as string[]) : []
}

/** What stands in a wrapper; of the kinds of a fault, the one that the value names. */
function opened(schema: unknown, value: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return opened(schema.unwrap(), value)
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return schema
  const { discriminator } = schema.def
  const kind = valueAt(value, [discriminator])
  return schema.options.find(
    option => option instanceof z.ZodObject && (option.shape[discriminator] as z.ZodType).safeParse(kind).success,
  )
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, step) => (typeof at === 'object' && at !== null ? at[step as keyof typeof at] : undefined),
    value,
  )
}

/** What is wrong; of a value that may be of several types, which these are. */
function saidOf(issue: z.core.$ZodIssue, found: unknown): string {
  const types = issue.code === 'invalid_union' ? issue.errors.map(([only]) => only) : []
  const names = types.flatMap(only => (only?.code === 'invalid_type' && only.path.length === 0 ? [only.expected] : []))
  if (names.length > 0 && names.length === types.length) {
    const received = found === null ? 'null' : Array.isArray(found) ? 'array' : typeof found
    return `expected ${names.join(' or ')}, received ${received}`
  }
  return issue.message.replace(/^Invalid input: /, '')
}

function upperFirst(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}

function emptied(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.keys(value).map(key => [key, []]))
}
