/** What decided the answer to a request, in sentences. */
import type { DecidedBy, Entry, RequestEntry } from '../../kernel/journal.ts'
import type { ReceivedRequest } from '../exchanges/request-log.ts'
import type { FaultView } from '../faults/fault-controls.ts'
import { isControlRequest } from '../observer.ts'
import type { Simulator } from '../simulator.ts'
import type { Causes } from './causes.ts'
import { nameRequest } from './kind-sentences.ts'
import { formatNumberOf, formatValue, quoteText } from './sentence.ts'

const DECIDERS: Readonly<Record<Exclude<DecidedBy, 'none'>, string>> = {
  fault: 'A fault rule decided the answer',
  limit: 'A limit of the account or the service decided the answer',
  state: 'The state of the account or the fleet decided the answer',
  rule: 'A scripted answer decided the answer',
}

/** Says what a request was, how it ended, and which fault, limit, state or rule decided that. */
export function describeRequest(sim: Simulator, causes: Causes, request: RequestEntry): string[] {
  const { seq, time, fields } = request
  const { clock } = sim.world
  const received = causes.received(seq)
  const receiver = isControlRequest(request) ? 'the control plane' : 'the service'
  const number = sim.requestLog.numbers.get(seq)
  const name = number === undefined ? `The request of entry ${seq}` : `Request ${number}`
  const sentences = [`${name} to ${receiver} is ${nameRequest(request)}, at ${clock.iso(time)}.`]
  sentences.push(describeEnd(fields.status, received, clock.iso(time), isWaiting(causes, request)))
  const decider = describeDecider(fields.decidedBy, fields.status, received)
  if (decider !== undefined) sentences.push(decider)
  const cause = causes.causeOf(request)
  if (cause?.kind === 'fault.hit') {
    const rule = sim.faults.list().find(({ id }) => id === cause.subject)?.rule
    sentences.push(`The rule is ${formatValue(cause.subject)}.`)
    if (rule !== undefined) sentences.push(describeTrigger(rule))
    const draw = cause.fields?.draw
    if (draw !== undefined) sentences.push(`The draw for this request was ${formatValue(draw)}.`)
  }
  if ((fields.decidedBy === 'state' || fields.decidedBy === 'limit') && cause === undefined) {
    const known = received === undefined ? 'The details of the request are no longer kept.' : ''
    sentences.push(`No entry of the journal made this ${fields.decidedBy}: the world or its journal began with it.`)
    if (known !== '') sentences.push(known)
  }
  if (fields.status === 401) sentences.push(...describeLostTokens(sim, causes, seq))
  const { retryAfter, unread = [] } = received ?? {}
  if (retryAfter !== undefined)
    sentences.push(`The answer asked the client to wait for ${formatNumberOf(retryAfter, 'second')}.`)
  if (unread.length > 0) sentences.push(`Nothing reads these fields of it: ${unread.map(quoteText).join(', ')}.`)
  return sentences
}

/** Says which token was taken away last before a request. The world does not keep the value that the request had. */
function describeLostTokens(sim: Simulator, causes: Causes, seq: number): string[] {
  const entry = causes
    .of(sim.world.ledger.uid)
    .findLast(({ kind, seq: position }) => position < seq && /^token\.(?:revoked|deleted)$/.test(kind))
  if (entry === undefined) return []
  return [
    `Entry ${entry.seq} took the token ${formatValue(entry.fields?.token_id)} away, which the request may have had.`,
  ]
}

/** Tells whether the answer to a request has not been sent. */
export function isWaiting(causes: Causes, request: RequestEntry): boolean {
  return (
    !isControlRequest(request) &&
    causes.received(request.seq) === undefined &&
    waitingAnswer(causes, request) !== undefined
  )
}

/** Returns the id of the answer that a request waits for; undefined if it has ended or never waited. */
export function waitingAnswer(causes: Causes, { seq }: Entry): string | undefined {
  const queued = causes.entries.find(({ kind, cause }) => kind === 'inference.queued' && cause === seq)
  const last = queued && causes.of(queued.subject).at(-1)
  return last?.kind === 'inference.queued' ? last.subject : undefined
}

function describeEnd(status: number, received: ReceivedRequest | undefined, sentAt: string, waits: boolean): string {
  if (waits) return 'It waits for its answer.'
  if (status === 0) return 'Its client got no response.'
  const wait = received === undefined || received.at === sentAt ? '' : `, after a wait, at ${received.at}`
  return `It was answered with the status ${status}${wait}.`
}

function describeDecider(
  decidedBy: DecidedBy,
  status: number,
  received: ReceivedRequest | undefined,
): string | undefined {
  const reason = received?.reason
  if (decidedBy !== 'none') {
    return `${DECIDERS[decidedBy]}${reason === undefined ? '' : `: ${quoteText(reason)}`}.`
  }
  if (status >= 400) {
    return `The request alone decided the answer${reason === undefined ? '' : `: ${quoteText(reason)}`}.`
  }
  return undefined
}

/** Says what a fault rule is, when it acts, and how often it has acted. */
export function describeRule({ id, rule, matches, hits }: FaultView): string[] {
  const on = [rule.on].flat().map(formatValue).slice(0, 5).join(', ')
  return [
    `${formatValue(id)} is a fault rule with the fault ${formatValue(rule.fault.kind)}, on ${on}.`,
    describeTrigger(rule),
    ...describeWindow(rule),
    `It has acted on ${hits} of ${formatNumberOf(matches, 'matching request')}.`,
    ...(rule.times === undefined ? [] : [`It acts on ${Math.max(0, rule.times - hits)} more.`]),
  ]
}

/** Says in which time a rule acts, and which entry arms it. */
function describeWindow({ from, until, after }: FaultView['rule']): string[] {
  const format = (time: typeof from) => formatValue(time instanceof Date ? time.toISOString() : time)
  return [
    ...(after === undefined ? [] : [`An entry ${formatValue(after.kind)} arms it.`]),
    ...(from === undefined ? [] : [`It acts from ${format(from)} on, as its rule states.`]),
    ...(until === undefined ? [] : [`It acts until ${format(until)}, as its rule states.`]),
  ]
}

/** Says by which count or draw a rule acts. */
export function describeTrigger({ times, nth, every, chance }: FaultView['rule']): string {
  if (times === 1) return 'It acts on the first matching request.'
  if (times !== undefined) return `It acts on the first ${times} matching requests.`
  if (nth !== undefined) return `It acts on the matching request number ${nth}.`
  if (every !== undefined) return `It acts on each matching request whose number ${every} divides.`
  if (chance === undefined) return 'It acts on each matching request.'
  return `It acts if the draw fault.trigger for a matching request is below its chance of ${chance}.`
}
