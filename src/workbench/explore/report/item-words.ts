/** Plan items in plain words. */
import { type Duration, formatDuration, micros } from '../../../kernel/duration.ts'
import { quote } from '../../../lib/quote.ts'
import { hideSecrets } from '../../../lib/text/secrets.ts'
import { COMMANDS } from '../../../simulation/operations/commands.ts'
import { FAULT_KINDS } from '../../../simulator/faults/kinds/index.ts'
import type { FaultKind } from '../../../simulator/faults/kinds/kind.ts'
import type { FaultRule } from '../../../simulator/faults/rules.ts'
import type { ObservedRequest } from '../../../simulator/judge/observation.ts'
import { type Anchor, type PlanItem, WHOLE_RUN } from '../plan/plan.ts'
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
  const { finding } = FAULT_KINDS[rule.fault.kind] as unknown as FaultKind
  if (rule.in === 'batch') return finding(rule.fault, nameLines(rule))
  const operation = first === undefined ? [rule.on].flat().join(' or ') : nameOperation(first)
  const happened = finding(rule.fault, operation)
  // A variation acts on the whole run.
  if (rule.for !== undefined && rule.fault.kind !== 'variation') {
    const begin = first === undefined ? `the ${ordinal(rule.nth ?? 1)} ${operation}` : `request ${first.index}`
    return `${rule.for === WHOLE_RUN ? '' : `for ${format(rule.for)} `}from ${begin} on, ${happened}`
  }
  if (first === undefined) return rule.nth === undefined ? happened : `${happened} (its ${ordinal(rule.nth)} request)`
  if (hits.length === 1) return `${happened} (request ${first.index})`
  return `${happened} (${hits.length} requests, from request ${first.index} on)`
}

/** Returns what a rule strikes in a batch. A model has lines of its own count. */
function nameLines({ nth, model }: FaultRule): string {
  const ofModel = model === undefined ? '' : ` for ${model}`
  return nth === undefined ? `a line of the batch${ofModel}` : `line ${nth}${ofModel} of the batch`
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

/** The words of a finding, each part with a label. */

/** What is said of a finding. Each part consists of whole sentences. */
export interface FindingWords {
  readonly invariant: string
  readonly what: string
  /** What the invariant asks for. Empty for one of the user's own. */
  readonly expected: string
  /** What led to it, in the order of the plan. Empty if it takes no fault. */
  readonly causes: readonly string[]
  /** The signatures of other violations with the same cause. One of another rule has its words in brackets. */
  readonly also: readonly string[]
  /** The inputs of the flow. Empty if it has none, or if the simplest ones are enough. */
  readonly inputs: string
  /** The requests of the client, in short. */
  readonly requests: string
  /** From when on nothing could save the client. Empty if it is unknown. */
  readonly tooLateFrom: string
  readonly necessary: string
  /** What the world of the finding lacks, of that of the flow. Empty if it is that of the flow. */
  readonly leftOut: string
  /** Empty for an invariant without advice. */
  readonly advice: string
}

/** Said of a finding without a cause. */
export const WITHOUT_FAULT = 'It happens without any fault.'

/** A label and what it labels. */
export type LabelledText = readonly [label: string, text: string]

/** Returns the words of a finding as labelled texts, for people. Parts that say nothing are left out. */
export function toLabelledTexts(words: FindingWords): readonly LabelledText[] {
  const { what, expected, also, causes, inputs, requests, tooLateFrom, necessary, leftOut, advice } = words
  const [only, ...others] = causes
  const texts: readonly LabelledText[] = [
    ['What happened', what],
    ['Also at', also.length === 0 ? '' : `${also.join(', ')}.`],
    ['Expected', expected],
    ...(others.length === 0
      ? [['Cause', only === undefined ? WITHOUT_FAULT : `${only} ${necessary}`.trim()] as const]
      : [...causes.map((cause, i) => [`Cause ${i + 1}`, cause] as const), ['Needed', necessary] as const]),
    ['Inputs', inputs],
    ['Requests', requests],
    ['Too late after', tooLateFrom],
    ['Left out', leftOut],
    ['What to do', advice],
  ]
  return texts.filter(([, text]) => text !== '')
}
