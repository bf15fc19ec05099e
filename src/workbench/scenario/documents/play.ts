/** Plays a scenario in YAML or JSON with the same API that scripts have. */

import { formatDuration, micros } from '../../../kernel/duration.ts'
import { decodeBase64 } from '../../../lib/bytes.ts'
import { differences } from '../../../lib/differences.ts'
import { given } from '../../../lib/fields.ts'
import { isInRange, type NumberBounds, parseRange } from '../../../lib/number-ranges.ts'
import { parsePattern } from '../../../lib/patterns.ts'
import { UntilError } from '../../../simulator/clock/moves/until-error.ts'
import { toCommandPath } from '../../../simulator/history/export/command-call.ts'
import type { ExplorableFlow } from '../../explore/flow.ts'
import type { FlowWorld } from '../../explore/flow-world.ts'
import { CheckError } from '../check.ts'
import type { SentRequest } from '../play/sent-request.ts'
import { type Props, type Scenario, scenario } from '../scenario.ts'
import { survives } from '../survives.ts'
import { decodeUpload } from './operation-input.ts'
import type { DocumentStep, FlowSurvival, ScenarioData, StepKind } from './schema.ts'

type SavedValues = Map<string, unknown>

/** What earlier steps of a play left: answers by name, and requests that were sent with `later`. */
interface Played {
  readonly saved: SavedValues
  readonly sent: Map<string, SentRequest>
}

// biome-ignore lint/suspicious/noExplicitAny: the names in a file are known only when it is played
type Dynamic = any

/**
 * Creates the scenario of a file.
 *
 * @param file path of the file, so that a failure names its line
 */
export function scenarioOf(
  { title, given: world, steps, tags, teaches, client, seeds }: ScenarioData,
  file: string,
): Scenario {
  const options = { ...world, ...given({ tags, teaches, client, seeds }) }
  return scenario(title, options as Scenario['options'], props =>
    playSteps(props, steps, { saved: new Map(), sent: new Map() }, file),
  )
}

/**
 * Creates the scenario of a file that plays a flow.
 *
 * @throws TypeError for an invalid flow, or an unknown invariant
 */
export function flowScenarioOf(
  { title, given: world, tags, teaches, client }: ScenarioData,
  { plan, inputs, invariants }: FlowSurvival,
  flow: ExplorableFlow,
): Scenario {
  const declared = survives(title, flow, { ...(world as FlowWorld), plan, inputs, invariants })
  return { ...declared, options: { ...declared.options, ...given({ tags, teaches, client }) } }
}

async function playSteps(props: Props, steps: readonly DocumentStep[], played: Played, file: string): Promise<void> {
  for (const step of steps) {
    try {
      await playStep(props, step, played, file)
    } catch (error) {
      // The innermost step comes first: a nested step fails in its own line.
      if (error instanceof Error && !error.stack?.includes(file))
        error.stack += `\n    at step (${file}:${step.position})`
      throw error
    }
  }
}

/** A step that is played now. */
interface PlayedStep {
  readonly props: Props
  /** The client with the token of the step. */
  readonly client: Dynamic
  /** The step with the values of its references. */
  readonly body: Dynamic
  readonly played: Played
  /** Plays the steps nested in it at one of their times. */
  playNested(when: string): Promise<void>
  readonly nestedTimes: readonly string[]
}

const STEPS: { readonly [Kind in StepKind]: (step: PlayedStep) => unknown } = {
  async do({ props, client, body, played }) {
    const call = callOperation(client, body.do)
    const { refused } = body
    if (refused === undefined) return save(played, body.as, await call)
    const refusal = await props.expectRefusal(call, refused.status, refused.message && parsePattern(refused.message))
    save(played, body.as, refusal.body)
  },
  async expect({ props, client, body, played }) {
    const { get, is, what } = body.expect
    const found = await runQuery(props, client, get)
    if ('is' in body.expect) props.check(found, toPatterns(is), what)
    save(played, body.as, found)
  },
  advance: ({ props, body }) => props.clock.advance(body.advance),
  async until({ props, client, body }) {
    const { get, where, within } = body.until
    const expected = toPatterns(where)
    let found: unknown
    const isMatch = async () => {
      found = await runQuery(props, client, get)
      return differences(found, expected).length === 0
    }
    try {
      await props.clock.until(isMatch, { within })
    } catch (error) {
      if (!(error instanceof UntilError)) throw error
      // Unlike the condition of a script, this one can list what differs.
      const what = `until (within ${formatDuration(micros(within ?? '24h'))})`
      throw new CheckError(what, differences(found, expected), found)
    }
  },
  fault: ({ props, body }) => ('on' in body.fault ? props.faults.add(body.fault) : runCommand(props, body.fault)),
  removeFault: ({ props, body }) => props.faults.remove(body.removeFault),
  addAnswer: ({ props, body }) => props.inference.add(body.addAnswer),
  removeAnswer: ({ props, body }) => props.inference.remove(body.removeAnswer),
  clearAnswers: ({ props }) => props.inference.clear(),
  request: ({ props, body, played }) => playRequest(props, body, played.sent),
  async answered({ props, body: { answered, status }, played }) {
    props.check(await getSent(answered, played.sent).answer(), { status }, answered)
  },
  leave: ({ body, played }) => getSent(body.leave, played.sent).leave(),
  always({ props, client, body: { always } }) {
    const wanted = toPatterns(always.is)
    props.always(async () => props.check(await runQuery(props, client, always.get), wanted), always.what)
  },
  never({ props, client, body: { never } }) {
    const unwanted = toPatterns(never.is)
    const isMatch = async () => differences(await runQuery(props, client, never.get), unwanted).length === 0
    props.never(isMatch, never.what)
  },
  leadsTo({ props, body }) {
    const { event, to, ...options } = body.leadsTo
    props.leadsTo(toPatterns(event), toPatterns(to), options)
  },
  countOf: ({ props, body: { countOf } }) => props.countOf(toPatterns(countOf.event), countOf.range, countOf.what),
  at({ props, nestedTimes, playNested }) {
    for (const when of nestedTimes) props.at(when, () => playNested(when))
  },
  every({ props, body, nestedTimes, playNested }) {
    for (const interval of nestedTimes) props.every(interval, () => playNested(interval), { times: body.times })
  },
}

async function playStep(props: Props, step: DocumentStep, played: Played, file: string): Promise<void> {
  const body = fillReferences(step.body, played.saved) as Dynamic
  await STEPS[step.kind]({
    ...{ props, body, played, client: body.token === undefined ? props.api : props.api.as(body.token) },
    nestedTimes: Object.keys(step.nestedSteps),
    playNested: when => playSteps(props, step.nestedSteps[when]!, played, file),
  })
}

function getSent(name: string, sent: Played['sent']): SentRequest {
  const one = sent.get(name)
  if (one === undefined) throw new Error(`Failed to find the request '${name}': it is not sent yet. Send it earlier.`)
  return one
}

/** Sends a request as it is, and checks its status unless a later step takes the answer. */
async function playRequest(
  { send, check }: Props,
  { request, base64, status, later, ...options }: Dynamic,
  sent: Played['sent'],
): Promise<void> {
  const one = send(request, base64 === undefined ? options : { ...options, body: decodeBase64(base64) })
  await one.sent
  if (later !== undefined) {
    sent.set(later, one)
    return
  }
  const answer = await one.answer()
  if (status !== undefined) check(answer, { status }, request)
}

function callOperation(client: Dynamic, operation: Record<string, unknown>): Promise<unknown> {
  const [[name, input]] = Object.entries(operation) as [[string, unknown]]
  return input === null || input === undefined
    ? client[name]()
    : client[name](decodeUpload(name, input as Record<string, unknown>))
}

/** The queries beside the operations of the service. */
const QUERIES: Readonly<Record<string, (props: Props, input: Dynamic) => unknown>> = {
  balance: ({ ledger }) => ledger.balance(),
  cost: ({ ledger }, input) => ledger.cost(input),
  rentSeconds: ({ ledger }, input) => ledger.rentSeconds(input),
  node: ({ cluster }, input) => cluster.node(input).view(),
  nodeOf: ({ cluster }, input) => cluster.nodeOf(input).view(),
  nodes: ({ cluster }) => cluster.nodes(),
  fault: ({ faults }, input) => faults.get(input),
  value: (_, input) => input,
}

async function runQuery(props: Props, client: Dynamic, get: Record<string, Dynamic>): Promise<unknown> {
  const [[name, input]] = Object.entries(get) as [[string, Dynamic]]
  const read = QUERIES[name]
  return read === undefined ? callOperation(client, get) : read(props, input)
}

/** Executes a command through the cluster API of scripts. */
async function runCommand({ cluster }: Props, { nodeOf, at, ...command }: Dynamic): Promise<void> {
  let step: Dynamic = cluster
  for (const { name, args } of toCommandPath(command, at === undefined ? undefined : { at })) {
    if (args === undefined) step = step[name]
    else step = name === 'node' && nodeOf !== undefined ? step.nodeOf(nodeOf) : step[name](...args)
  }
  await step
}

function save({ saved }: Played, name: string | undefined, value: unknown): void {
  if (name !== undefined) saved.set(name, value)
}

/** Replaces each `${name.field}` by its value. A text that is one reference takes the type of the value. */
function fillReferences(value: unknown, saved: SavedValues): unknown {
  if (typeof value === 'string') {
    const [, whole] = /^\$\{([^}]*)\}$/.exec(value) ?? []
    if (whole !== undefined) return getSaved(whole, saved)
    return value.replace(/\$\{([^}]*)\}/g, (_, path: string) => {
      const found = getSaved(path, saved)
      return typeof found === 'string' ? found : JSON.stringify(found)
    })
  }
  if (Array.isArray(value)) return value.map(item => fillReferences(item, saved))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillReferences(item, saved)]))
}

function getSaved(path: string, saved: SavedValues): unknown {
  const [name, ...fields] = path
    .trim()
    .split(/[.[\]]+/)
    .filter(part => part !== '')
  let value = saved.get(name!)
  for (const field of fields) {
    const next = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[field] : undefined
    if (next === undefined) {
      const available = typeof value === 'object' && value !== null ? Object.keys(value).join(', ') : String(value)
      throw new Error(
        `Failed to fill in \${${path}}: '${field}' is missing. Available: ${available === '' ? 'nothing' : available}.`,
      )
    }
    value = next
  }
  return value
}

/** A range of a number, as a matcher. A value that is not a number has to equal its text. */
class NumberRange {
  readonly #text: string
  readonly #bounds: NumberBounds

  constructor(text: string, bounds: NumberBounds) {
    this.#text = text
    this.#bounds = bounds
  }

  asymmetricMatch(actual: unknown): boolean {
    return typeof actual === 'number' ? isInRange(actual, this.#bounds) : actual === this.#text
  }

  toAsymmetricMatcher(): string {
    return `a number in ${this.#text}`
  }

  toJSON(): string {
    return this.#text
  }
}

function toPatterns(value: unknown): Dynamic {
  if (typeof value === 'string') {
    const bounds = parseRange(value)
    return bounds === undefined ? parsePattern(value) : new NumberRange(value, bounds)
  }
  if (Array.isArray(value)) return value.map(toPatterns)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toPatterns(item)]))
}
