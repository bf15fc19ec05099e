/** A recording as the steps of a scenario: requests as they were sent, what else happened, and the statuses to expect. */

import type { Micros } from '../../../kernel/duration.ts'
import { tryParseJson } from '../../../lib/json-text.ts'
import { hashCredential } from '../../../lib/text/secrets.ts'
import type { ScriptRule } from '../../../service/openai/scripted-answers.ts'
import type { Command } from '../../../simulation/operations/commands.ts'
import type { FaultRule } from '../../faults/rules.ts'
import { transferTime } from '../../faults/wire-faults.ts'
import type { ControlAction } from '../../observer.ts'
import { RecordingError } from '../file.ts'
import type { ActionLine, Numbered, RecordedBody, RequestLine } from '../lines.ts'
import { listExchanges, type WholeExchange } from '../timeline.ts'

/** A request of a scenario: the keys of a step in YAML. */
export interface RequestStep {
  /** Method and path. */
  readonly request: string
  readonly headers?: Readonly<Record<string, string | null>>
  readonly body?: unknown
  readonly base64?: string
  /** 0: no answer. */
  readonly status?: number
  /** The name of the request, if its answer is the matter of a later step. */
  readonly later?: string
}

/** A step of a scenario. Each is a step in YAML as it is. */
export type ScenarioStep =
  | { readonly advance: string }
  | { readonly fault: (Command & { readonly at?: string }) | FaultRule }
  | { readonly removeFault: string }
  | { readonly addAnswer: ScriptRule }
  | { readonly removeAnswer: string }
  | { readonly clearAnswers: true }
  | RequestStep
  | { readonly answered: string; readonly status: number }
  | { readonly leave: string }

/** Something at its time, before it has steps. */
interface Happening {
  readonly at: Micros
  /** When it is over: an answer that is not yet there takes time. */
  readonly until: Micros
  readonly steps: readonly ScenarioStep[]
  /** The request whose first or last part this is. */
  readonly number?: number
}

/**
 * Returns the steps of a recording.
 *
 * @param token the first API token of the world
 * @param start microseconds of the world at the first line
 * @throws RecordingError for an action that no scenario can do
 */
export function toScenarioSteps(
  lines: readonly Numbered[],
  what: string,
  { token, start }: { readonly token: string; readonly start: Micros },
): ScenarioStep[] {
  const exchanges = new Map(listExchanges(lines).map(exchange => [exchange.line.request, exchange]))
  const sentBy = findSends(lines, exchanges)
  const happenings: Happening[] = []
  for (const line of lines) {
    const at = line.at[0]
    const end = endOf(line)
    const exchange = end === undefined ? undefined : exchanges.get(end)
    const sent = sentBy.get(line)
    if (sent !== undefined) {
      happenings.push({ at, until: at, steps: [toRequest(sent, token, what)], number: sent.line.request })
    } else if ('action' in line) {
      happenings.push({ at, until: at, steps: toActionSteps(line.action, line, what) })
    } else if (exchange !== undefined) happenings.push(...toEnd(exchange, line))
    else if ('digest' in line) happenings.push({ at, until: at, steps: [] })
  }
  // A fault that delays an answer comes in the order of its time.
  return toSteps(
    happenings.toSorted((one, other) => one.until - other.until),
    start,
  )
}

/**
 * Returns the requests by the line at which a scenario has to send them. Requests of one time take their steps in turn,
 * and those of a scenario one after another: the last step of that time decides their order. If an action comes between
 * the steps, the first one does, because it has tried the fault rules.
 */
function findSends(
  lines: readonly Numbered[],
  exchanges: ReadonlyMap<number, WholeExchange>,
): ReadonlyMap<Numbered, WholeExchange> {
  const last = new Map<WholeExchange, Numbered>()
  const actionsBefore = new Map<WholeExchange, number>()
  let actions = 0
  for (const line of lines) {
    const number = 'request' in line ? line.request : 'step' in line ? line.step : undefined
    const exchange = number === undefined ? undefined : exchanges.get(number)
    if ('action' in line && !SILENT.includes(line.action.do)) actions++
    if (exchange === undefined || line.at[0] !== exchange.sentAt) continue
    if ('request' in line) actionsBefore.set(exchange, actions)
    if (actionsBefore.get(exchange) === actions) last.set(exchange, line)
  }
  return new Map([...last].map(([exchange, line]) => [line, exchange]))
}

/** Returns the request that a line may end. */
function endOf(line: Numbered): number | undefined {
  if ('answer' in line) return line.streamed && line.status !== 0 ? undefined : line.answer
  return 'read' in line && line.body !== undefined ? line.read : undefined
}

/** Returns what a client got at the end of its request. Nothing, if it never comes to an end. */
function toEnd({ line: { request }, answer, content, endedAt = 0 }: WholeExchange, line: Numbered): Happening[] {
  const hasLeft = 'read' in line ? line.body === 'left' : answer?.status === 0
  const name = nameOf(request)
  if (hasLeft) return [{ at: line.at[0], until: line.at[0], steps: [{ leave: name }] }]
  const wire = answer?.wire
  if (wire?.kind === 'hang') return []
  const isRefused = wire?.kind === 'reset' || wire?.kind === 'refused'
  const now = 'now' in line ? (line.now ?? 0) : 0
  const slow = wire?.kind === 'slow' ? transferTime(byteLength(content), wire.bytesPerSecond) : 0
  const until = Math.max(endedAt, now) + slow
  return [{ at: until, until, steps: [{ answered: name, status: isRefused ? 0 : answer!.status }], number: request }]
}

function byteLength(content: RecordedBody | undefined): number {
  if (typeof content === 'string') return new TextEncoder().encode(content).length
  if (content === undefined || content === null) return 0
  return 'bytes' in content ? content.bytes : Math.floor((content.base64.length * 3) / 4)
}

/** Returns the steps with the moves of time between them. An answer right after its request is part of its step. */
function toSteps(happenings: readonly Happening[], start: Micros): ScenarioStep[] {
  const ended = new Set(
    happenings.flatMap(({ steps }) => steps.flatMap(step => ('answered' in step ? step.answered : []))),
  )
  const steps: ScenarioStep[] = []
  let now = start
  for (const [index, { at, steps: own, number }] of happenings.entries()) {
    const [first] = own
    const before = happenings[index - 1]
    const isAtOnce = first !== undefined && 'answered' in first && before?.number === number
    if (isAtOnce) {
      // The request itself moves time to its answer.
      const { later: _, ...request } = steps.pop() as RequestStep
      steps.push({ ...request, status: first.status })
      now = Math.max(now, at)
      continue
    }
    if (at > now) {
      steps.push({ advance: formatExactly(at - now) })
      now = at
    }
    steps.push(...own)
  }
  return steps.filter(step => !('leave' in step) || !ended.has(step.leave))
}

function toRequest({ line, body: recorded }: WholeExchange, token: string, what: string): RequestStep {
  const { method, path, request } = line
  if (recorded !== undefined && recorded !== null && typeof recorded !== 'string' && 'digest' in recorded) {
    throw new RecordingError(`Failed to export ${what}: line ${line.line}: the body of the request was not kept.`)
  }
  const body = toBody(recorded)
  const headers = keptHeaders(line, { token, isJson: 'body' in body && typeof body.body !== 'string' })
  return {
    request: `${method} ${path}`,
    ...(Object.keys(headers).length > 0 && { headers }),
    ...body,
    later: nameOf(request),
  }
}

/** Headers that the answer can depend on. */
const KEPT = /^(content-type|content-encoding|idempotency-key|x-sim-.*|accept|.*api-key)$/
/** Of these, headers of the control plane and of replays. */
const OWN = /^x-sim-(control-token|replay|client)$/

/**
 * Returns the headers that a request has beside those of each request: the first API token of the world, and the
 * content type of JSON. `null` leaves out one of these.
 *
 * @param token the first API token of the world
 * @param isJson whether the body is sent as JSON
 */
function keptHeaders(
  { method, headers: recorded }: Pick<RequestLine, 'method' | 'headers'>,
  { token, isJson }: { readonly token: string; readonly isJson: boolean },
): Record<string, string | null> {
  const kept: Record<string, string | null> = {}
  const { authorization } = recorded
  if (authorization !== `Bearer ${hashCredential(token)}`) kept.authorization = authorization ?? null
  for (const [name, value] of Object.entries(recorded)) {
    if (!KEPT.test(name) || OWN.test(name)) continue
    if (name === 'accept' && !value.includes('event-stream')) continue
    if (name === 'content-type' && (method === 'GET' || method === 'HEAD')) continue
    if (name === 'content-type' && isJson && value === 'application/json') continue
    kept[name] = value
  }
  if (isJson && recorded['content-type'] === undefined) kept['content-type'] = null
  return kept
}

function nameOf(request: number): string {
  return `request${request}`
}

/** Returns a body as the keys of a step. */
function toBody(recorded: RecordedBody | undefined): Pick<RequestStep, 'body' | 'base64'> {
  if (recorded === undefined || recorded === null) return {}
  if (typeof recorded !== 'string') return 'base64' in recorded ? { base64: recorded.base64 } : {}
  const parsed = tryParseJson(recorded)
  const isSame = typeof parsed === 'object' && parsed !== null && JSON.stringify(parsed) === withoutSpace(recorded)
  return { body: isSame ? parsed : recorded }
}

/** Returns JSON without the space between its tokens. */
function withoutSpace(json: string): string {
  return json.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')
}

/** Actions that say nothing about the world. */
const SILENT: readonly string[] = ['listControlRequest', 'setClock']

/** What no scenario can do, in words. */
const UNABLE: Readonly<Partial<Record<ControlAction['do'], string>>> = {
  command: 'repeat a command',
  startTimeline: 'start another one',
  stopTimeline: 'stop another one',
  settleWebhook: 'receive a webhook',
  endInference: 'end a request to a model',
  writeData: 'write to the data',
}

function toActionSteps(action: ControlAction, line: Numbered<ActionLine>, what: string): ScenarioStep[] {
  if (SILENT.includes(action.do)) return []
  switch (action.do) {
    case 'command': {
      const { command, delay = 0, repetition } = action
      if (repetition !== undefined) break
      return [{ fault: { ...command, ...(delay > 0 && { at: formatExactly(delay) }) } }]
    }
    case 'addFault':
      return [{ fault: action.rule }]
    case 'removeFault':
      return [{ removeFault: action.id }]
    case 'addAnswer':
      return [{ addAnswer: action.rule }]
    case 'removeAnswer':
      return [{ removeAnswer: action.name }]
    case 'clearAnswers':
      return [{ clearAnswers: true }]
  }
  throw new RecordingError(
    `Failed to export ${what}: line ${line.line}: a scenario cannot ${UNABLE[action.do]}. Record without it, or replay the file.`,
  )
}

const UNITS = [
  ['h', 3_600_000_000],
  ['m', 60_000_000],
  ['s', 1_000_000],
  ['ms', 1000],
  ['us', 1],
] as const

/** Formats a duration without rounding, as in `1h30m`. */
function formatExactly(duration: Micros): string {
  let rest = duration
  let text = ''
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) text += `${count}${unit}`
  }
  return text === '' ? '0s' : text
}
