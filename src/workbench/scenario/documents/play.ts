/** Plays a scenario in YAML or JSON with the same API that scripts have. */

import { formatDuration, micros } from '../../../kernel/duration.ts'
import { decodeBase64 } from '../../../lib/base64.ts'
import { differences } from '../../../lib/differences.ts'
import { findCommandMethod } from '../../../simulation/operations/command-methods.ts'
import { COMMANDS } from '../../../simulation/operations/commands.ts'
import { UntilError } from '../../../simulator/clock/moves/until-error.ts'
import type { ExplorableFlow } from '../../explore/flow.ts'
import type { FlowWorld } from '../../explore/flow-world.ts'
import { CheckError } from '../check.ts'
import type { SentRequest } from '../play/sent-request.ts'
import { type Props, type Scenario, scenario } from '../scenario.ts'
import { survives } from '../survives.ts'
import { decodeUpload } from './operation-input.ts'
import type { DocumentStep, FlowSurvival, ScenarioData } from './schema.ts'

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
  { title, given, steps, tags, teaches, client, seeds }: ScenarioData,
  file: string,
): Scenario {
  const about = { tags, teaches, client, seeds }
  const options = { ...given, ...Object.fromEntries(Object.entries(about).filter(([, value]) => value !== undefined)) }
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
  { title, given, tags, teaches, client }: ScenarioData,
  { plan, inputs, invariants }: FlowSurvival,
  flow: ExplorableFlow,
): Scenario {
  const declared = survives(title, flow, { ...(given as FlowWorld), plan, inputs, invariants })
  const about = Object.entries({ tags, teaches, client }).filter(([, value]) => value !== undefined)
  return { ...declared, options: { ...declared.options, ...Object.fromEntries(about) } }
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

async function playStep(props: Props, step: DocumentStep, played: Played, file: string): Promise<void> {
  const { api, clock, check, expectRefusal, at, every } = props
  const { saved, sent } = played
  const body = fillReferences(step.body, saved) as Dynamic
  const client = body.token === undefined ? api : api.as(body.token)
  switch (step.kind) {
    case 'do': {
      const { refused } = body
      if (refused === undefined) save(saved, body.as, await callOperation(client, body.do))
      else
        save(
          saved,
          body.as,
          (await expectRefusal(callOperation(client, body.do), refused.status, toPattern(refused.message))).body,
        )
      return
    }
    case 'expect': {
      const { get, is, what } = body.expect
      const found = await runQuery(props, client, get)
      if ('is' in body.expect) check(found, toPatterns(is), what)
      save(saved, body.as, found)
      return
    }
    case 'advance':
      await clock.advance(body.advance)
      return
    case 'until': {
      const { get, where, within } = body.until
      const expected = toPatterns(where)
      let found: unknown
      const isMatch = async () => {
        found = await runQuery(props, client, get)
        return differences(found, expected).length === 0
      }
      try {
        await clock.until(isMatch, { within })
      } catch (error) {
        if (!(error instanceof UntilError)) throw error
        // Unlike the condition of a script, this one can list what differs.
        throw new CheckError(
          `until (within ${formatDuration(micros(within ?? '24h'))})`,
          differences(found, expected),
          found,
        )
      }
      return
    }
    case 'fault':
      if ('on' in body.fault) await props.faults.add(body.fault)
      else await runCommand(props, body.fault)
      return
    case 'removeFault':
      await props.faults.remove(body.removeFault)
      return
    case 'addAnswer':
      await props.inference.add(body.addAnswer)
      return
    case 'removeAnswer':
      await props.inference.remove(body.removeAnswer)
      return
    case 'clearAnswers':
      await props.inference.clear()
      return
    case 'request':
      await playRequest(props, body, sent)
      return
    case 'answered':
      check(await getSent(body.answered, sent).answer(), { status: body.status }, body.answered)
      return
    case 'leave':
      getSent(body.leave, sent).leave()
      return
    case 'always': {
      const { get, is, what } = body.always
      const wanted = toPatterns(is)
      props.always(async () => check(await runQuery(props, client, get), wanted), what)
      return
    }
    case 'never': {
      const { get, is, what } = body.never
      const unwanted = toPatterns(is)
      props.never(async () => differences(await runQuery(props, client, get), unwanted).length === 0, what)
      return
    }
    case 'leadsTo': {
      const { event, to, ...options } = body.leadsTo
      props.leadsTo(toPatterns(event), toPatterns(to), options)
      return
    }
    case 'countOf': {
      const { event, range, what } = body.countOf
      await props.countOf(toPatterns(event), range, what)
      return
    }
    case 'at':
      for (const [when, steps] of Object.entries(step.nestedSteps))
        at(when, () => playSteps(props, steps, played, file))
      return
    case 'every':
      for (const [interval, steps] of Object.entries(step.nestedSteps)) {
        every(interval, () => playSteps(props, steps, played, file), { times: body.times })
      }
  }
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

async function runQuery(
  { cluster, ledger, faults }: Props,
  client: Dynamic,
  get: Record<string, Dynamic>,
): Promise<unknown> {
  const [[name, input]] = Object.entries(get) as [[string, Dynamic]]
  switch (name) {
    case 'balance':
      return ledger.balance()
    case 'cost':
      return ledger.cost(input)
    case 'rentSeconds':
      return ledger.rentSeconds(input)
    case 'node':
      return cluster.node(input).view()
    case 'nodeOf':
      return cluster.nodeOf(input).view()
    case 'nodes':
      return cluster.nodes()
    case 'fault':
      return faults.get(input)
    case 'value':
      return input
    default:
      return callOperation(client, get)
  }
}

/** Executes a command through the cluster API of scripts. */
async function runCommand({ cluster }: Props, { verb, target, nodeOf, args = {}, at }: Dynamic): Promise<void> {
  const { owner, group, method } = findCommandMethod(verb)
  const { args: declared = {} } = COMMANDS[verb as keyof typeof COMMANDS] as { args?: object }
  const parameters = [...Object.keys(declared).map(argument => args[argument]), ...(at === undefined ? [] : [{ at }])]
  const fleet = cluster as Dynamic
  if (owner === 'selector') {
    const selected = nodeOf === undefined ? fleet[group](...selectorParameters(group, target)) : fleet.nodeOf(nodeOf)
    await selected[method](...parameters)
    return
  }
  if (target !== undefined) parameters.unshift(target)
  await (owner === 'group' ? fleet[group] : fleet)[method](...parameters)
}

/** Returns the parameters of a selector: of a GPU, its node and its index. */
function selectorParameters(group: string, target: unknown): unknown[] {
  if (group !== 'gpu') return [target]
  const name = String(target)
  const slash = name.lastIndexOf('/')
  return slash < 0 ? [name, Number.NaN] : [name.slice(0, slash), Number(name.slice(slash + 1))]
}

function save(saved: SavedValues, name: string | undefined, value: unknown): void {
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

/** Converts `/…/` to a pattern; other texts stay as they are. */
function toPattern(text: string | undefined): string | RegExp | undefined {
  const [, source, flags] = /^\/(.+)\/([imsu]{0,4})$/s.exec(text ?? '') ?? []
  return source === undefined ? text : new RegExp(source, flags)
}

function toPatterns(value: unknown): Dynamic {
  if (typeof value === 'string') return toPattern(value)
  if (Array.isArray(value)) return value.map(toPatterns)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toPatterns(item)]))
}
