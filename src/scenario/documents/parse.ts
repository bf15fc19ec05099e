/** Reads scenarios from YAML and JSON: what is wrong is said with its line, its column and the nearest word. */
import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { LineCounter, parseDocument, type Document as YamlDocument } from 'yaml'
import * as z from 'zod'
import { openFixture, openProfile } from '#fixture-files'
import { type ProfileInput, withWeather } from '../../data/profiles/load.ts'
import { isDuration } from '../../faults/kinds/fields.ts'
import { FaultError, parseRuleWithoutWindow } from '../../faults/rules.ts'
import { micros } from '../../kernel/duration.ts'
import { formatSuggestion, nearestWord } from '../../lib/did-you-mean.ts'
import { createApi } from '../../service/http/service.ts'
import { documentedOperations, operations } from '../../service/index.ts'
import { type NamesProfile, readNames } from '../../service/naming/names-profile.ts'
import { JOURNAL_KINDS } from '../../simulation/journal-kinds.ts'
import { resolveRelative } from '../runner/beside.ts'
import { isDefiniteMistake, isReference, OPERATION_INPUTS, toRequestInput } from './operation-input.ts'
import { DocumentError, findMistakes, MistakeList, type Path, valueAt } from './problems.ts'
import {
  CommandFault,
  CountOf,
  EventFields,
  EventKind,
  GivenWorld,
  LeadsTo,
  ScenarioDocument,
  STEP_SCHEMAS,
  type StepKind,
  WireFault,
} from './schema.ts'

/** A step as it stands in the file, and where. */
export interface DocumentStep {
  readonly kind: StepKind
  readonly body: Readonly<Record<string, unknown>>
  /** `line:column` */
  readonly position: string
  /** Of `at` and `every`: the steps by their moment. */
  readonly nestedSteps: Readonly<Record<string, readonly DocumentStep[]>>
}

export interface ScenarioData extends Omit<z.output<typeof ScenarioDocument>, 'steps'> {
  readonly steps: readonly DocumentStep[]
}

/** Most bytes of a file: far beyond a scenario, and far below what a reader of YAML can be made to choke on. */
const MAX_FILE_BYTES = 256 * 1024
/** Most uses of anchors: a few lines of them can stand for gigabytes. */
const MAX_ALIASES = 50

/**
 * Reads a scenario from a YAML or JSON file.
 *
 * @param name what the file is called in errors
 * @throws DocumentError with a line for each mistake: `name:line:column: what is wrong. What to do.`
 */
export function readScenarioDocument(file: string, name: string): ScenarioData {
  if (statSync(file).size > MAX_FILE_BYTES) {
    throw new DocumentError(`${name}: it is larger than ${MAX_FILE_BYTES / 1024} KiB. Split it into several scenarios.`)
  }
  return new ScenarioReader(readFileSync(file, 'utf8'), name, dirname(file)).read()
}

class ScenarioReader {
  readonly #lines = new LineCounter()
  readonly #document: YamlDocument.Parsed
  readonly #folder: string
  readonly #mistakes: MistakeList
  #withNeighbours = true

  /** @param home the folder that the file lies in */
  constructor(text: string, name: string, home: string) {
    this.#folder = home
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false })
    this.#mistakes = new MistakeList(name, this.#document, this.#lines)
  }

  read(): ScenarioData {
    const value = this.#readRoot()
    // The steps each by their own kind, or a mistake in one would be told as a mistake against all kinds.
    const { steps: _, ...top } = ScenarioDocument.shape
    this.#checkSchema(z.strictObject({ ...top, steps: z.array(z.unknown()).min(1) }), value, [])
    const { steps, ...rest } = value as z.output<typeof ScenarioDocument> & { steps: unknown[] }
    this.#checkGiven(rest.given)
    const read = Array.isArray(steps) ? this.#readSteps(steps, ['steps'], []) : []
    this.#mistakes.throwIfAny()
    return { ...rest, steps: read }
  }

  /** The world to begin in, as far as each of its options is one. */
  #checkGiven(given: unknown): void {
    if (!isMap(given)) return
    const isValid = ([name, value]: [string, unknown]) => {
      return (
        Object.hasOwn(GivenWorld.shape, name) &&
        GivenWorld.shape[name as keyof typeof GivenWorld.shape].safeParse(value).success
      )
    }
    const validOptions: NonNullable<ScenarioData['given']> = Object.fromEntries(
      Object.entries(given as object).filter(isValid),
    )
    this.#withNeighbours = validOptions.documentedOnly !== true
    this.#checkWorld(validOptions)
    for (const [i, rule] of (validOptions.faults ?? []).entries()) this.#checkRule(rule, ['given', 'faults', i])
  }

  /** What the file holds. What is no YAML is told by its first mistake: the others may be of its making. */
  #readRoot(): object {
    const value = this.#parse()
    if (!isMap(value)) {
      this.#mistakes.addAt(
        0,
        'the file holds no scenario',
        'Give a map of title, steps and what else docs/scenarios.md has',
      )
    }
    this.#mistakes.throwIfAny()
    return value as object
  }

  #parse(): unknown {
    const [error] = this.#document.errors
    if (error?.code === 'MULTIPLE_DOCS') {
      this.#mistakes.addAt(error.pos[0], 'a second document begins here', 'Keep one scenario a file')
    } else if (error) {
      this.#mistakes.addAt(error.pos[0], error.message.split('\n')[0]!.replace(/\.$/, ''), 'Mend that line')
    }
    this.#mistakes.throwIfAny()
    try {
      return this.#document.toJS({ maxAliasCount: MAX_ALIASES })
    } catch (cause) {
      this.#mistakes.addAt(0, (cause as Error).message.toLowerCase(), `Use at most ${MAX_ALIASES} aliases`)
      this.#mistakes.throwIfAny()
    }
  }

  #readSteps(value: unknown, path: Path, saved: string[]): DocumentStep[] {
    if (Array.isArray(value)) return value.flatMap((step, i) => this.#readStep(step, [...path, i], saved))
    this.#addMistake(path, 'steps are a list', 'Begin each with a dash')
    return []
  }

  #readStep(value: unknown, path: Path, saved: string[]): DocumentStep[] {
    const kind = this.#kindOf(value, path)
    const body = (isMap(value) ? value : {}) as Record<string, unknown>
    const planned = kind === undefined ? [] : this.#readNestedSteps(kind, body, path, saved)
    // Of a step that is mistaken, too: those that name what it saves are none the worse for it.
    if (typeof body.as === 'string') saved.push(body.as)
    return kind === undefined
      ? []
      : [{ kind, body, position: this.#mistakes.formatPosition(path), nestedSteps: Object.fromEntries(planned) }]
  }

  /** Looks through a step, and returns those that it plans. */
  #readNestedSteps(
    kind: StepKind,
    body: Record<string, unknown>,
    path: Path,
    saved: string[],
  ): [string, DocumentStep[]][] {
    const planner = kind === 'at' || kind === 'every' ? body[kind] : undefined
    const inner = isMap(planner) ? (planner as Record<string, unknown>) : undefined
    // Their steps are looked at one by one.
    const withoutNested = inner === undefined ? body : { ...body, [kind]: withEmptyLists(inner) }
    if (this.#checkSchema(narrowStepSchema(kind, body), withoutNested, path)) {
      this.#checkCall(kind, body, path)
      if (kind === 'fault' && isRule(body.fault)) this.#checkRule(body.fault, [...path, kind])
    }
    this.#checkReferences(inner === undefined ? body : { ...body, [kind]: {} }, path, saved)
    return Object.entries(inner ?? {}).map(([when, steps]) => {
      const here = [...path, kind, when]
      this.#checkTimeKey(kind, when, here)
      return [when, this.#readSteps(steps, here, saved)]
    })
  }

  /** Which kind of step it is, by the key that only that has. */
  #kindOf(value: unknown, path: Path): StepKind | undefined {
    const kinds = Object.keys(STEP_SCHEMAS) as StepKind[]
    const keys = isMap(value) ? Object.keys(value as object) : []
    const [kind, second] = kinds.filter(one => keys.includes(one))
    if (second !== undefined) {
      this.#addMistake([...path, second], `one step has both '${kind}' and '${second}'`, 'Make two steps of it')
      return undefined
    }
    if (kind !== undefined) return kind
    const hints = keys.map(key => nearestWord(key, kinds))
    const meant = hints.find(hint => hint !== undefined)
    const unknownKey = meant === undefined ? keys[0] : keys[hints.indexOf(meant)]
    const what = unknownKey === undefined ? 'a step is a map' : `there is no step '${unknownKey}'`
    const advice = meant ? `Did you mean '${meant}'?` : `Steps are ${kinds.join(', ')}`
    this.#addMistake(unknownKey === undefined ? path : [...path, unknownKey], what, advice)
    return undefined
  }

  /** An operation and its input are a map of one key. */
  #checkCall(kind: StepKind, body: Record<string, unknown>, path: Path): void {
    const at = kind === 'do' ? ['do'] : QUERY_STEPS.includes(kind) ? [kind, 'get'] : undefined
    if (at === undefined) return
    const call = valueAt(body, at) as Record<string, unknown>
    const names = Object.keys(call)
    if (names.length !== 1) {
      const what = `it names ${names.length} operations`
      this.#addMistake([...path, ...at], what, 'Give one, as in getDeployment: { deploy_id: … }')
      return
    }
    const [name] = names as [string]
    const input = call[name]
    if (isReference(input)) return
    const here = [...path, ...at, name]
    if (Object.hasOwn(OPERATION_INPUTS, name)) this.#checkInput(name, input, here, body.refused !== undefined)
    else if (NAMED_QUERIES.includes(name) && (typeof input !== 'string' || input === '')) {
      this.#addMistake(here, `'${name}' names nothing`, `Give a name or an id, as in ${name}: …`)
    } else if (!NAMED_QUERIES.includes(name) && name !== 'value' && input !== null) {
      this.#addMistake(here, `'${name}' takes nothing`, `Leave what is behind it out`)
    }
  }

  /** The input of an operation, as far as it can be judged before the step is played. */
  #checkInput(operation: string, given: unknown, path: Path, isRefused: boolean): void {
    const input = given ?? {}
    if (!isMap(input)) {
      this.#addMistake(path, `what '${operation}' takes is a map`, 'Give its fields by their names')
      return
    }
    const sent = toRequestInput(operation, input as Record<string, unknown>)
    this.#checkSchema(OPERATION_INPUTS[operation]!, sent, path, issue =>
      isDefiniteMistake(issue, valueAt(sent, issue.path as Path), isRefused),
    )
  }

  /** The key of a planned step: how long from now, or how often. */
  #checkTimeKey(kind: StepKind, when: string, path: Path): void {
    if (isDuration(when) && (kind === 'at' || micros(when) > 0)) return
    if (kind === 'at' && ISO_TIME.test(when) && Number.isFinite(Date.parse(when))) return
    const advice =
      kind === 'at'
        ? "Give a duration from now, as in '5m', or a time of the world, as in '2026-01-01T01:00:00Z'"
        : "Give a duration above 0, as in '1h'"
    this.#addMistake(path, `'${when}' is no ${kind === 'at' ? 'moment' : 'interval'}`, advice)
  }

  /** That there are such a fixture, profile, weather and names. */
  #checkWorld({ fixtures, profile, weather, names }: NonNullable<ScenarioData['given']>): void {
    if (typeof fixtures === 'string') {
      try {
        openFixture(resolveRelative(fixtures, this.#folder))
      } catch (error) {
        this.#addMistakeFrom(['given', 'fixtures'], (error as Error).message.replace(/^Failed to read /, ''))
      }
    }
    const source = resolveRelative(profile, this.#folder)
    const found = typeof source === 'string' ? openProfile(source) : undefined
    if (found !== undefined && 'problem' in found) this.#addMistakeFrom(['given', 'profile'], found.problem)
    else if (weather !== undefined) this.#checkWeather(weather, source as ProfileInput)
    if (names === undefined) return
    try {
      createApi({
        neighbours: this.#withNeighbours,
        names: readNames(resolveRelative(names, this.#folder) as string | NamesProfile),
      })
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      this.#addMistakeFrom(['given', 'names'], error.message.replace(/^Failed to read /, ''))
    }
  }

  #checkWeather(weather: string, profile: ProfileInput): void {
    try {
      withWeather(profile, { weather })
    } catch (error) {
      // What is wrong with a profile is told by who reads it.
      if (!(error instanceof RangeError)) return
      const [, advice] = /: (.*)$/s.exec(error.message)!
      this.#addMistake(['given', 'weather'], `there is no weather '${weather}'`, capitalize(advice!))
    }
  }

  /** What of a rule its schema cannot say: that there is such an operation, such a kind of event. */
  #checkRule(rule: unknown, path: Path): void {
    const { findOperationId: operationOf } = createApi({ neighbours: this.#withNeighbours })
    const ruleContext = {
      operations: this.#withNeighbours ? operations : documentedOperations,
      operationOf,
      kinds: JOURNAL_KINDS,
    }
    try {
      parseRuleWithoutWindow(rule, ruleContext)
    } catch (error) {
      if (!(error instanceof FaultError)) throw error
      this.#addMistakeFrom([...path, ...(error.path as Path)], error.reason)
    }
  }

  /** Every `${name…}` has to be saved by an earlier step. */
  #checkReferences(value: unknown, path: Path, saved: readonly string[]): void {
    if (typeof value === 'string') {
      for (const [whole, name] of value.matchAll(/\$\{\s*([\w$]*)[^}]*\}/g)) {
        if (saved.includes(name!)) continue
        const fallback = saved.length > 0 ? `Saved so far: ${saved.join(', ')}` : "Save an answer with 'as: name' first"
        const advice = formatSuggestion(name!, saved, fallback)
        this.#addMistake(path, `${whole} names nothing that an earlier step saved`, advice)
      }
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        this.#checkReferences(item, [...path, Array.isArray(value) ? Number(key) : key], saved)
      }
    }
  }

  /** Whether a schema takes a value; what it does not is told. */
  #checkSchema(schema: z.ZodObject, value: unknown, path: Path, counts = (_: z.core.$ZodIssue) => true): boolean {
    const issues = schema.safeParse(value).error?.issues.filter(counts) ?? []
    this.#mistakes.add(...findMistakes(schema, value, path, issues))
    return issues.length === 0
  }

  #addMistake(path: Path, what: string, advice: string): void {
    this.#mistakes.add({ path, what, advice })
  }

  /** A message of somebody else, as what is wrong and what to do. */
  #addMistakeFrom(path: Path, message: string): void {
    const end = message.search(/\. (?=[A-Z'])/)
    this.#addMistake(path, end < 0 ? message : message.slice(0, end), end < 0 ? 'Mend it' : message.slice(end + 2))
  }
}

/** Looks beside the operations that name what they look at. */
const NAMED_QUERIES: readonly string[] = ['cost', 'rent', 'node', 'nodeOf', 'fault']

/** A time of the world. */
const ISO_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)$/i

/** Steps that look at something. */
const QUERY_STEPS: readonly StepKind[] = ['expect', 'until', 'always', 'never']

/** Whether a fault is a rule of the wire; else it is a verb of the world. */
export function isRule(fault: unknown): boolean {
  return typeof fault === 'object' && fault !== null && ('on' in fault || 'fault' in fault)
}

/** The schema of a step for what stands there: a mistake in one of several forms is told as one in that form. */
function narrowStepSchema(kind: StepKind, body: Record<string, unknown>): z.ZodObject {
  const part = (typeof body[kind] === 'object' && body[kind] !== null ? body[kind] : {}) as Record<string, unknown>
  const event = (name: string) => (typeof part[name] === 'object' && part[name] !== null ? EventFields : EventKind)
  switch (kind) {
    case 'fault':
      return z.strictObject({ fault: isRule(body.fault) ? WireFault : CommandFault })
    case 'leadsTo':
      return z.strictObject({ leadsTo: LeadsTo.extend({ event: event('event'), to: event('to') }) })
    case 'countOf':
      return z.strictObject({ countOf: CountOf.extend({ event: event('event') }) })
    default:
      return STEP_SCHEMAS[kind]
  }
}

function capitalize(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}

function isMap(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function withEmptyLists(value: object): object {
  return Object.fromEntries(Object.keys(value).map(key => [key, []]))
}
