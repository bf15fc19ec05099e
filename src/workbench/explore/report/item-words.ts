/** Plan items in plain words. */

import { type Duration, formatDuration, micros } from '../../../kernel/duration.ts'
import { quote } from '../../../lib/quote.ts'
import { hideSecrets } from '../../../lib/text/secrets.ts'
import { COMMANDS } from '../../../simulation/operations/commands.ts'
import type { Fault, FaultRule } from '../../../simulator/faults/rules.ts'
import type { ObservedRequest } from '../../../simulator/judge/observation.ts'
import type { Anchor, PlanItem } from '../plan/plan.ts'
import { hitsOf } from '../shrink/cut.ts'

/** Returns what happened because of an item of a plan, as the main clause of a sentence. */
export function describeItem(item: PlanItem, requests: readonly ObservedRequest[] = []): string {
  if ('crash' in item) {
    const request = requests.find(({ index }) => index === item.crash)
    const name = request === undefined ? '' : ` (${nameOperation(request)})`
    return `the process of the client ended after request ${item.crash}${name} had been carried out, and started again`
  }
  if ('command' in item) return describeCommand(item)
  return describeRule(item.fault, hitsOf(item, requests))
}

function describeCommand({ command, after, for: lasts, undo }: Extract<PlanItem, { command: unknown }>): string {
  const { verb, target, args } = command
  const { description } = COMMANDS[verb as keyof typeof COMMANDS]
  const name = target === undefined ? verb : `${verb} ${target}`
  const end = lasts === undefined || undo === undefined ? '' : `, and ${undo.verb} followed ${format(lasts)} later`
  const given = Object.entries(args ?? {}).map(([key, value]) => `${key} ${quote(value)}`)
  const options = given.length === 0 ? '' : ` with ${given.join(' and ')}`
  return `the simulator executed ${name}${options} ${describeAnchor(after)} (${description})${end}`
}

function describeAnchor({ kind, subject, nth = 1, offset }: Anchor): string {
  const delay = offset === undefined || micros(offset) === 0 ? '' : `${format(offset)} after `
  if (kind === 'start') return delay === '' ? 'at the start' : `${delay}the start`
  const entry = `the ${nth === 1 ? 'first' : ordinal(nth)} journal entry ${kind}${subject === undefined ? '' : ` of ${subject}`}`
  return delay === '' ? `at ${entry}` : `${delay}${entry}`
}

function describeRule(rule: FaultRule, hits: readonly ObservedRequest[]): string {
  const [first] = hits
  const operation = first === undefined ? [rule.on].flat().join(' or ') : nameOperation(first)
  const happened = describeFault(rule.fault, operation)
  if (rule.for !== undefined) {
    const begin = first === undefined ? `the ${ordinal(rule.nth ?? 1)} ${operation}` : `request ${first.index}`
    return `for ${format(rule.for)} from ${begin} on, ${happened}`
  }
  if (first === undefined) return rule.nth === undefined ? happened : `${happened} (its ${ordinal(rule.nth)} request)`
  if (hits.length === 1) return `${happened} (request ${first.index})`
  return `${happened} (${hits.length} requests, from request ${first.index} on)`
}

type Words = (fault: never, operation: string) => string
type FaultOf<Kind> = Extract<Fault, { readonly kind: Kind }>

const when = (fault: { readonly effect?: string | undefined }, operation: string) =>
  fault.effect === 'done' ? `after ${operation} had been carried out` : `before ${operation} was carried out`

/** What a client meets, by fault kind. */
const FAULT_WORDS: Readonly<Record<string, Words>> = {
  status: (fault: FaultOf<'status'>, operation) => `${operation} was answered with ${fault.status}${done(fault)}`,
  rateLimit: (_: FaultOf<'rateLimit'>, operation) => `${operation} was answered with 429`,
  reset: (fault: FaultOf<'reset'>, operation) => `the connection was reset ${when(fault, operation)}`,
  refused: (_: FaultOf<'refused'>, operation) => `the connection for ${operation} was refused`,
  html: (fault: FaultOf<'html'>, operation) =>
    `${operation} was answered with an HTML page and status ${fault.status ?? 502}${done(fault)}`,
  hang: (fault: FaultOf<'hang'>, operation) => `${operation} was never answered${done(fault)}`,
  empty: (_: FaultOf<'empty'>, operation) => `the answer to ${operation} had an empty body`,
  truncated: ({ end = 'reset' }: FaultOf<'truncated'>, operation) => `${ENDS[end]} within the answer to ${operation}`,
  stream: ({ after = 3, event, end }: FaultOf<'stream'>, operation) =>
    `${end !== undefined || event === undefined ? ENDS[end ?? 'error'] : 'an event came'} after ${after}${typeof after === 'number' ? ' events' : ''} in the stream of ${operation}`,
  variation: (fault: FaultOf<'variation'>, operation) =>
    `each answer to ${operation} had another form that the interface allows (${fault.form})`,
  headers: (fault: FaultOf<'headers'>, operation) =>
    `the answer to ${operation} had the headers ${Object.keys(fault.headers).join(', ')}`,
  gzip: (_: FaultOf<'gzip'>, operation) => `the answer to ${operation} was compressed`,
  garbled: (_: FaultOf<'garbled'>, operation) => `the answer to ${operation} was unreadable`,
  latency: (fault: FaultOf<'latency'>, operation) => `the answer to ${operation} came ${format(fault.delay)} late`,
  stale: (fault: FaultOf<'stale'>, operation) => `${operation} was answered with data of ${format(fault.lag)} before`,
  slowBody: (_: FaultOf<'slowBody'>, operation) => `the answer to ${operation} arrived slowly`,
  duplicate: (_: FaultOf<'duplicate'>, operation) => `${operation} was carried out twice`,
  drift: (fault: FaultOf<'drift'>, operation) =>
    `the answer to ${operation} differed from the interface document (${fault.change})`,
}

/** How a body ends that is not whole. */
const ENDS = {
  error: 'an error event came',
  reset: 'the connection broke',
  close: 'the connection closed in order',
  silence: 'nothing more came',
}

function describeFault(fault: Fault, operation: string): string {
  const words = FAULT_WORDS[fault.kind]
  return words === undefined ? `${operation} got the fault ${fault.kind}` : words(fault as never, operation)
}

function done(fault: { readonly effect?: string | undefined }): string {
  return fault.effect === 'done' ? ' after it had been carried out' : ''
}

/** Returns the operation of a request, or its method and path if the service has no such operation. */
export function nameOperation({ operation, method, path }: ObservedRequest): string {
  return operation === '' ? hideSecrets(`${method} ${path.split('?', 1)[0]}`) : operation
}

function format(duration: Duration): string {
  return formatDuration(micros(duration))
}

function ordinal(count: number): string {
  const ending = count % 100 >= 11 && count % 100 <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th')
  return `${count}${ending}`
}
