/** Reads scenarios from YAML and JSON, and reports each mistake with its line, its column and the nearest known word. */

import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import * as z from 'zod'
import { elapsedAt } from '../../../kernel/clock.ts'
import { micros } from '../../../kernel/duration.ts'
import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { isRecord } from '../../../lib/json-text.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { valueAt } from '../../../lib/zod-problems.ts'
import { isDuration } from '../../../simulator/faults/kinds/fields.ts'
import { kindByKey } from '../../explore/plan/plan-form.ts'
import { isFlowDocument, readFlowDocument } from './flow-document.ts'
import { isDefiniteMistake, isReference, OPERATION_INPUTS, toRequestInput } from './operation-input.ts'
import { DocumentError, findMistakes, MistakeList, type Path } from './problems.ts'
import {
  type CommandStep,
  type DocumentStep,
  isRule,
  narrowStepSchema,
  QUERY_INPUTS,
  type ScenarioData,
  ScenarioDocument,
  STEP_SCHEMAS,
  type StepKind,
} from './schema.ts'
import { WorldChecks } from './world-checks.ts'

/**
 * Reads a scenario from a YAML or JSON file.
 *
 * @param name the file's name in errors
 * @throws DocumentError with a line for each mistake: `name:line:column: what is wrong. What to do.`
 */
export function readScenarioDocument(file: string, name: string): ScenarioData {
  if (statSync(file).size > LIMITS.scenarioBytes) {
    throw new DocumentError(
      `${name}: it is larger than ${LIMITS.scenarioBytes / 1024} KiB. Split it into several scenarios.`,
    )
  }
  return new ScenarioReader(readFileSync(file, 'utf8'), name, dirname(file)).read()
}

class ScenarioReader {
  readonly #mistakes: MistakeList
  readonly #world: WorldChecks
  readonly #folder: string
  /** The names of the requests that steps send with `later`. */
  readonly #sent: string[] = []

  /** @param folder the folder of the file */
  constructor(text: string, name: string, folder: string) {
    this.#mistakes = new MistakeList(text, name)
    this.#world = new WorldChecks(folder, this.#mistakes)
    this.#folder = folder
  }

  read(): ScenarioData {
    const value = this.#readRoot()
    if (isFlowDocument(value)) {
      const checkSchema = (schema: z.ZodObject, part: unknown, path: Path) => this.#checkSchema(schema, part, path)
      return readFlowDocument(value, {
        folder: this.#folder,
        mistakes: this.#mistakes,
        world: this.#world,
        checkSchema,
      })
    }
    // Each step is checked by the schema of its kind: a union of all kinds would report every mistake once for each kind.
    const { steps: _, ...top } = ScenarioDocument.shape
    this.#checkSchema(z.strictObject({ ...top, steps: z.array(z.unknown()).min(1) }), value, [])
    const { steps, ...rest } = value as z.output<typeof ScenarioDocument> & { steps: unknown[] }
    this.#world.checkGiven(rest.given)
    const read = Array.isArray(steps) ? this.#readSteps(steps, ['steps'], []) : []
    this.#mistakes.throwIfAny()
    return { ...rest, steps: read }
  }

  #readRoot(): object {
    const value = this.#mistakes.read('scenario')
    if (!isRecord(value)) {
      const advice = 'Give a map with title, steps and the other keys of docs/scenarios.md'
      this.#mistakes.addAt(0, 'the file does not hold a scenario', advice)
    }
    this.#mistakes.throwIfAny()
    return value as object
  }

  #readSteps(value: unknown, path: Path, saved: string[]): DocumentStep[] {
    if (Array.isArray(value)) return value.flatMap((step, i) => this.#readStep(step, [...path, i], saved))
    this.#mistakes.add(path, 'steps must be a list', 'Begin each with a dash')
    return []
  }

  #readStep(value: unknown, path: Path, saved: string[]): DocumentStep[] {
    const found = kindByKey(value, Object.keys(STEP_SCHEMAS) as StepKind[], 'step', 'a step')
    const kind = typeof found === 'string' ? found : undefined
    if (typeof found === 'object') this.#mistakes.addAll([found], path)
    const body = isRecord(value) ? value : {}
    const planned = kind === undefined ? [] : this.#readNestedSteps(kind, body, path, saved)
    // An invalid step counts too: otherwise each use of its saved value would be reported as a mistake.
    if (typeof body.as === 'string') saved.push(body.as)
    return kind === undefined
      ? []
      : [{ kind, body, position: this.#mistakes.formatPosition(path), nestedSteps: Object.fromEntries(planned) }]
  }

  /** Checks a step, and returns the steps nested in it. */
  #readNestedSteps(
    kind: StepKind,
    body: Record<string, unknown>,
    path: Path,
    saved: string[],
  ): [string, DocumentStep[]][] {
    const planner = kind === 'at' || kind === 'every' ? body[kind] : undefined
    const inner = isRecord(planner) ? planner : undefined
    // Nested steps are checked one by one below.
    const withoutNested = inner === undefined ? body : { ...body, [kind]: withEmptyLists(inner) }
    if (this.#checkSchema(narrowStepSchema(kind, body), withoutNested, path)) {
      this.#checkCall(kind, body, path)
      if (kind === 'fault') {
        if (isRule(body.fault)) this.#world.checkRule(body.fault, [...path, kind])
        else this.#world.checkCommand(body.fault as CommandStep, [...path, kind])
      }
    }
    this.#checkSentNames(kind, body, path)
    this.#checkReferences(inner === undefined ? body : { ...body, [kind]: {} }, path, saved)
    return Object.entries(inner ?? {}).map(([when, steps]) => {
      const here = [...path, kind, when]
      this.#checkTimeKey(kind, when, here)
      return [when, this.#readSteps(steps, here, saved)]
    })
  }

  /** Checks an operation and its input, which are a map with one key. */
  #checkCall(kind: StepKind, body: Record<string, unknown>, path: Path): void {
    const at = kind === 'do' ? ['do'] : QUERY_STEPS.includes(kind) ? [kind, 'get'] : undefined
    if (at === undefined) return
    const call = valueAt(body, at) as Record<string, unknown>
    const names = Object.keys(call)
    if (names.length !== 1) {
      const what = `it names ${names.length} operations`
      this.#mistakes.add([...path, ...at], what, 'Give one, as in getDeployment: { deploy_id: … }')
      return
    }
    const [name] = names as [string]
    const input = call[name]
    if (isReference(input)) return
    const here = [...path, ...at, name]
    const { type } = QUERY_INPUTS[name] ?? {}
    if (Object.hasOwn(OPERATION_INPUTS, name)) this.#checkInput(name, input, here, body.refused !== undefined)
    else if (type === 'string' && (typeof input !== 'string' || input === '')) {
      this.#mistakes.add(here, `'${name}' needs a name or an id`, `Give one, as in ${name}: …`)
    } else if (type === 'null' && input !== null) {
      this.#mistakes.add(here, `'${name}' takes no input`, 'Remove its value')
    }
  }

  /** Checks the input of an operation, as far as it is known before the step is played. */
  #checkInput(operation: string, given: unknown, path: Path, isRefused: boolean): void {
    const input = given ?? {}
    if (!isRecord(input)) {
      this.#mistakes.add(path, `the input of '${operation}' must be a map`, 'Give its fields by their names')
      return
    }
    const sent = toRequestInput(operation, input as Record<string, unknown>)
    this.#checkSchema(OPERATION_INPUTS[operation]!, sent, path, issue =>
      isDefiniteMistake(issue, valueAt(sent, issue.path as Path), isRefused),
    )
  }

  /** Checks the key of nested steps: a delay, a time or an interval. */
  #checkTimeKey(kind: StepKind, when: string, path: Path): void {
    if (isDuration(when) && (kind === 'at' || micros(when) > 0)) return
    if (kind === 'at' && Number.isFinite(elapsedAt(when, 0))) return
    const advice =
      kind === 'at'
        ? "Give a duration from now, as in '5m', or a virtual time, as in '2026-01-01T01:00:00Z'"
        : "Give a duration above 0, as in '1h'"
    this.#mistakes.add(path, `invalid ${kind === 'at' ? 'time' : 'interval'} '${when}'`, advice)
  }

  /** Reports an answer to a request that no earlier step sends, and a second request of the same name. */
  #checkSentNames(
    kind: StepKind,
    { later, answered, leave, body, base64, status }: Record<string, unknown>,
    path: Path,
  ) {
    if (kind === 'request') {
      if (body !== undefined && base64 !== undefined) {
        this.#mistakes.add([...path, 'base64'], "a request has both 'body' and 'base64'", 'Give one of them')
      }
      if (typeof later !== 'string') return
      if (this.#sent.includes(later)) {
        this.#mistakes.add([...path, 'later'], `'${later}' is sent already`, 'Give another name')
      }
      if (status !== undefined) {
        this.#mistakes.add([...path, 'status'], 'the answer comes later', "Give the status to the step 'answered'")
      }
      this.#sent.push(later)
      return
    }
    const name = kind === 'answered' ? answered : kind === 'leave' ? leave : undefined
    if (typeof name !== 'string' || this.#sent.includes(name)) return
    const fallback = "Send it first, with 'later'"
    this.#mistakes.add([...path, kind], `no earlier step sends '${name}'`, formatSuggestion(name, this.#sent, fallback))
  }

  /** Reports each `${name…}` that no earlier step saves. */
  #checkReferences(value: unknown, path: Path, saved: readonly string[]): void {
    if (typeof value === 'string') {
      for (const [whole, name] of value.matchAll(/\$\{\s*([\w$]*)[^}]*\}/g)) {
        if (saved.includes(name!)) continue
        const fallback = saved.length > 0 ? `Saved so far: ${saved.join(', ')}` : "Save an answer with 'as: name' first"
        const advice = formatSuggestion(name!, saved, fallback)
        this.#mistakes.add(path, `no earlier step saves ${whole}`, advice)
      }
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        this.#checkReferences(item, [...path, Array.isArray(value) ? Number(key) : key], saved)
      }
    }
  }

  /** Returns whether a schema accepts a value, and reports its issues. */
  #checkSchema(schema: z.ZodObject, value: unknown, path: Path, counts = (_: z.core.$ZodIssue) => true): boolean {
    const issues = schema.safeParse(value).error?.issues.filter(counts) ?? []
    this.#mistakes.addAll(findMistakes(schema, value, path, issues))
    return issues.length === 0
  }
}

/** Steps with a query. */
const QUERY_STEPS: readonly StepKind[] = ['expect', 'until', 'always', 'never']

function withEmptyLists(value: object): object {
  return Object.fromEntries(Object.keys(value).map(key => [key, []]))
}
