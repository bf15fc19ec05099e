/** The words of violations: things, requests, times and amounts for people. */

import { formatDuration, type Micros } from '../../kernel/duration.ts'
import { attempt } from '../../lib/errors.ts'
import { hideSecrets } from '../../lib/text/secrets.ts'
import { MICROCENTS_PER_USD, type Microcents } from '../../simulation/account/money.ts'
import type { Conduct, CreatedKind, CreatedThing, ObservedRequest } from './observation.ts'

/** The words of kinds that are not their own word. */
const KIND_WORDS: Readonly<Record<string, string>> = { adapter: 'LoRA adapter', hosted: 'hosted instance' }

/** The longest text of a client that words repeat, in characters. */
const MAX_QUOTED = 60
/** The longest path that words and evidence repeat, in characters. */
const MAX_PATH = 120

/** Formats an amount in US dollars, as in `$1.25`. A smaller amount than a cent has four decimals. */
export function formatUsd(microcents: Microcents): string {
  const usd = microcents / MICROCENTS_PER_USD
  if (usd === 0 || usd >= 0.01) return `$${usd.toFixed(2)}`
  return usd < 0.0001 ? 'less than $0.0001' : `$${usd.toFixed(4)}`
}

/** Says what a thing has cost in which time, and what it costs a day from there, as in `$6.48 in 2h 46m, $62 a day …`. */
export function formatCost(
  conduct: Pick<Conduct, 'sim' | 'end' | 'endedAt'>,
  { id, microcents, createdAt }: Pick<CreatedThing, 'id' | 'microcents' | 'createdAt'>,
): string {
  const { clock, world } = conduct.sim
  const time = clock.elapsed - createdAt
  const rate = world.ledger.meters.rateOf(id)
  const goesOn = rate > 0 ? `, ${formatUsd(rate * 24)} a day from there` : ''
  const span = untilJudged(conduct) || ` in ${formatDuration(time)}`
  return time <= 0 ? formatUsd(microcents) : `${formatUsd(microcents)}${span}${goesOn}`
}

/** Says until when amounts count: the service of a run goes on after its client. `''` in a judgement of a log. */
export function untilJudged({ sim, end, endedAt }: Pick<Conduct, 'sim' | 'end' | 'endedAt'>): string {
  const after = sim.clock.elapsed - endedAt
  const ended = end.kind === 'unsettled' ? 'was stopped' : 'ended'
  return after > 0 ? ` until the run was judged, ${formatDuration(after)} after the client ${ended}` : ''
}

/** Formats a time as the time since the client started, as in `12m 5s`. */
export function formatSince({ startedAt }: Pick<Conduct, 'startedAt'>, time: Micros): string {
  return time <= startedAt ? '0s' : formatDuration(time - startedAt)
}

/** Names a kind of thing, as in `LoRA adapter`. */
export function kindWord(kind: CreatedKind): string {
  return KIND_WORDS[kind] ?? kind
}

/** Names a thing with its kind, id and status, as in "The deployment dep_1 (running)". */
export function nameThing({ kind, id, status }: Pick<CreatedThing, 'kind' | 'id' | 'status'>): string {
  return `The ${kindWord(kind)} ${id} (${status})`
}

/** Names a request with its operation and its end, as in "request 4 (getDeployment, 503)". */
export function nameRequest(request: ObservedRequest): string {
  return `request ${request.index} (${shortenPath(operationOf(request))}, ${describeOutcome(request)})`
}

/** Cuts a path, or an operation that is one, to 120 characters. */
export function shortenPath(path: string): string {
  const shown = hideSecrets(path)
  return shown.length > MAX_PATH ? `${shown.slice(0, MAX_PATH)}…` : shown
}

/** Returns a text with a capital letter at its start. */
export function startSentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Returns the operation of a request, or its method and path if the path is unknown. */
export function operationOf({
  operation,
  method,
  path,
}: Pick<ObservedRequest, 'operation' | 'method' | 'path'>): string {
  return operation === '' ? `${method} ${pathOf({ path })}` : operation
}

/** Returns the path of a request without its query and without a slash at its end, which the service ignores. */
export function pathOf({ path }: Pick<ObservedRequest, 'path'>): string {
  const query = path.indexOf('?')
  const bare = query < 0 ? path : path.slice(0, query)
  return bare.length > 1 && bare.endsWith('/') ? bare.slice(0, -1) : bare
}

/** Quotes a text of a client, cut to 60 characters. */
export function quoteText(value: unknown): string {
  const text = hideSecrets(
    typeof value === 'string' ? value : (attempt(() => JSON.stringify(value) ?? String(value)) ?? 'an object'),
  )
  return `'${text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text}'`
}

/** Says how the client ended, as in "The client threw". */
export function describeEnd({ end }: Pick<Conduct, 'end'>): string {
  switch (end.kind) {
    case 'returned':
      return 'The client returned'
    case 'threw':
      return 'The client threw'
    case 'unsettled':
      return 'The client waits'
  }
}

function describeOutcome({ outcome, status }: ObservedRequest): string {
  if (outcome === 'answered') return String(status)
  return outcome === 'failed' ? 'connection failed' : 'no answer'
}
