/** The end of a run: the world recovers, and the invariants are applied to what the client left in it. */

import { type Duration, type Micros, micros } from '../../../kernel/duration.ts'
import { encodeBase64 } from '../../../lib/bytes.ts'
import { once } from '../../../lib/once.ts'
import { quote } from '../../../lib/quote.ts'
import { formatPlace, textsIn } from '../../../simulator/judge/answers/leaves.ts'
import { lossesOf } from '../../../simulator/judge/answers/losses.ts'
import { nameTellers } from '../../../simulator/judge/answers/telling.ts'
import { findCreatedThings, namesInBody, toBase } from '../../../simulator/judge/created-things.ts'
import { effectsOf } from '../../../simulator/judge/effects.ts'
import { hasRole, isUsable, walk } from '../../../simulator/judge/facts.ts'
import type {
  ClientEnd,
  CreatedThing,
  Loss,
  Observation,
  ObservedRequest,
} from '../../../simulator/judge/observation.ts'
import { describeCrash, gradeOf, printedBy } from '../../../simulator/judge/recovery.ts'
import { DEFAULT_POLLS_AT_MOST } from '../../../simulator/judge/rules/polls-at-most.ts'
import { kindWord } from '../../../simulator/judge/words.ts'
import { hideSecretsIn } from '../../../simulator/requests/secrets.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { FlowOptions } from '../flow.ts'
import type { InvariantSettings } from '../invariants.ts'
import type { AppliedPlan } from './applied-plan.ts'
import type { RequestRecorder } from './request-recorder.ts'
import { findBoundaries, findFeatures, findLineage } from './run-record.ts'
import { type Learned, type RunResult, type RunTelling, UNSETTLED } from './runner.ts'
import { describeViolation, InvariantThrew, judge, judgedIn } from './verdict.ts'

const DEFAULT_SETTLES: Duration = '7d'
/** A client that waits for days without faults may take this many times as long with them. */
const SETTLES_FACTOR = 4
/** Time of the world after the end of the flow, in which what goes on without a client shows itself. */
const RECOVERY: Duration = '15m'
/** Journal entries of one run. A run that has more keeps the newest. */
export const JOURNAL_LIMIT = 50_000

type ReadOptions = Pick<FlowOptions, 'invariants' | 'own' | 'lines' | 'tells' | 'tellsBy'>

/** A client that has ended, and its world. */
export interface EndedClient {
  readonly sim: Simulator
  readonly plan: AppliedPlan
  readonly recorder: RequestRecorder
  readonly end: ClientEnd
  readonly startedAt: Micros
  readonly starts: number
  readonly output: string
  readonly learned: Learned
  /** The loop that it never left; undefined for none. */
  readonly loop?: string | undefined
  /** Moves the time of the world. */
  advance(duration: Duration): Promise<unknown>
}

/** Returns the longest time that a client may take. */
export function settlesWithin({ settles }: InvariantSettings, base: Observation['base']): Micros {
  if (settles) return micros(settles)
  return Math.max(micros(DEFAULT_SETTLES), SETTLES_FACTOR * (base?.duration ?? 0))
}

/** Ends all faults and failures of a world. */
export function heal(sim: Simulator, plan: AppliedPlan): void {
  plan.stop()
  sim.cluster.recoverAll()
}

/** Recovers the world, applies the invariants, and returns what remains of the run. */
export async function concludeRun(
  client: EndedClient,
  options: ReadOptions,
  base: Observation['base'],
): Promise<RunResult> {
  const { sim, plan } = client
  const { invariants = {} } = options
  const endedAt = sim.clock.elapsed
  heal(sim, plan)
  await client.advance(RECOVERY)
  const blobs = await readBlobs(client.end)
  const end = client.end.kind === 'returned' && blobs.size > 0 ? { ...client.end, blobs } : client.end
  const observation = observe({ ...client, end }, endedAt, options, base)
  const entries = sim.journal.entries()
  const violations = judge(observation, invariants)
  const { losses, noise, unseen } = lossesOf(observation)
  const grade = gradeOf(
    observation,
    losses.some(({ verdict }) => verdict === 'said'),
  )
  const lineage = new Map<string, ReadonlySet<number>>()
  for (const violation of violations) {
    if (lineage.has(violation.signature)) continue
    lineage.set(violation.signature, findLineage(violation, observation, entries, plan))
  }
  return {
    digest: sim.digest,
    requests: observation.requests,
    end: observation.end.kind,
    broken: hideSecretsIn(sim, violations.map(describeViolation)),
    fired: plan.fired,
    loop: client.loop,
    lineage,
    boundaries: findBoundaries(entries, observation),
    statusFields: Array.from(sim.world.ownRecords.declared.values(), ({ status }) => status),
    features: findFeatures(entries, observation.requests),
    duration: endedAt - client.startedAt,
    telling: {
      ...tellingOf(losses, client.learned),
      ...{ noise, unseen },
      ...{ grade, printedOnly: findPrintedOnly(observation) },
      crash: grade === 'crash' && end.kind === 'threw' ? hideSecretsIn(sim, describeCrash(end.error)) : undefined,
      judged: base === undefined ? [] : judgedIn(observation, invariants),
    },
    created: observation.created.map(({ id, isAlive }) => ({ id, isAlive })),
    base: base === undefined ? toBase(observation) : undefined,
  }
}

/** Returns the base64 of each blob in a result. */
async function readBlobs(end: ClientEnd): Promise<ReadonlyMap<unknown, string>> {
  const found = new Set<Blob>()
  walk(end.kind === 'returned' ? end.result : undefined, value => {
    if (value instanceof Blob) found.add(value)
    return !(value instanceof Blob || ArrayBuffer.isView(value))
  })
  const read = async (blob: Blob) => [blob, encodeBase64(new Uint8Array(await blob.arrayBuffer()))] as const
  return new Map(await Promise.all(Array.from(found, read)))
}

function observe(
  { sim, plan, recorder, end, startedAt, starts, output, learned }: EndedClient,
  endedAt: Micros,
  { invariants = {}, own, lines, tells, tellsBy }: ReadOptions,
  base: Observation['base'],
): Observation {
  const created = findCreatedThings(sim, recorder.bySeq)
  const pollsAtMost = invariants.pollsAtMost || DEFAULT_POLLS_AT_MOST
  const observation: Observation = {
    ...{ requests: recorder.requests, end, sim, startedAt, endedAt, created, base, output },
    owned:
      own !== undefined && end.kind === 'returned'
        ? new Set(readList('own', own, end.result, isText, 'a list of ids') as readonly string[])
        : findOwnedIds(end, created, sim, recorder.requests),
    lines:
      end.kind === 'returned' && lines !== undefined
        ? readList('lines', lines, end.result, isObject, 'a list of objects with custom_id')
        : undefined,
    effects: effectsOf({ sim }, recorder.bySeq),
    ratesBefore: plan.ratesBefore,
    crashes: starts - 1,
    settings: {
      settles: settlesWithin(invariants, base),
      pollsAtMost,
      spendsAtMost: invariants.spendsAtMost === false ? undefined : invariants.spendsAtMost,
      recovers: invariants.recovers === 'always' ? 'always' : undefined,
    },
    tells: end.kind === 'returned' && tells !== undefined ? readTells(tells, end.result) : undefined,
    isRead: tellsBy === 'output',
    learned,
    get recovery() {
      return recovery()
    },
  }
  const recovery = once(() => {
    const hit = recorder.requests.find(({ fault }) => fault !== undefined)
    if (hit === undefined || !plan.passes) return undefined
    const grade = gradeOf(observation, false)
    return { grade, isUneven: learned.uneven.has(hit.operation) && plan.isFailure }
  })
  return observation
}

/** Returns the kinds of things that a command left alive when it failed, although it ends them without faults. */
function findPrintedOnly({ end, base, created, owned }: Observation): string[] {
  if (end.kind !== 'threw' || printedBy(end.error) === undefined) return []
  const kept = new Set(base?.created.flatMap(({ kind, isAlive }) => (isAlive ? [kind] : [])))
  const left = created.filter(({ kind, id, isAlive }) => isAlive && owned.has(id) && !kept.has(kind))
  return [...new Set(left.map(({ kind }) => kindWord(kind)))]
}

/** Returns what said of losses, for the report and for other runs. */
function tellingOf(losses: readonly Loss[], { isSettled }: Learned): Pick<RunTelling, 'trusted' | 'said' | 'unclear'> {
  const tellersOf = (verdict: Loss['verdict']) =>
    losses.flatMap(loss => (loss.verdict === verdict ? [...loss.tellers] : []))
  const said = tellersOf('said')
  const unclear = losses.filter(({ verdict }) => verdict === 'unclear')
  const isTrusted = losses.some(
    ({ verdict, tellers }) =>
      verdict === 'said' && tellers.length > 0 && tellers.every(({ tells }) => tells === 'ifQuiet'),
  )
  const isOpen = !isSettled && unclear.length > 0
  return {
    trusted: [...(isTrusted ? said : []), ...(isOpen ? tellersOf('unclear') : [])]
      .map(({ key }) => key)
      .concat(isOpen ? [UNSETTLED] : []),
    said: said.length === 0 ? undefined : nameTellers(said),
    unclear: unclear.length === 0 ? undefined : nameTellers(tellersOf('unclear')) || formatPlace(unclear[0]!.place),
  }
}

/**
 * Returns the ids of the created things that the end of a client names: anywhere in its result, or in its error. An adapter
 * has its name in place of an id in the paths of the service, so its name is enough. If the client threw and each look for
 * the thing failed, it cannot know the id. Then a name that its create gave is enough, as in the metadata of a batch.
 */
function findOwnedIds(
  end: ClientEnd,
  created: readonly CreatedThing[],
  sim: Simulator,
  requests: readonly ObservedRequest[],
): ReadonlySet<string> {
  if (created.length === 0 || end.kind === 'unsettled') return new Set()
  const texts = textsIn(end.kind === 'returned' ? end.result : end.error)
  const words = once(() => new Set(texts.flatMap(text => text.split(/[^\w.-]+/))))
  const isNamed = (thing: CreatedThing) => {
    const { kind, id } = thing
    const name = kind === 'adapter' ? sim.world.deployments.get(id)?.row.plan.modelName.split('/').at(-1) : undefined
    if (texts.some(text => text.includes(id)) || (name !== undefined && words().has(name))) return true
    const lookups = requests.filter(one => one.index > thing.request.index && hasRole({ sim }, one, `list ${kind}`))
    const isInVain = end.kind === 'threw' && lookups.length > 0 && !lookups.some(isUsable)
    return isInVain && namesInBody(thing).some(one => texts.some(text => text.includes(one)))
  }
  return new Set(created.filter(isNamed).map(({ id }) => id))
}

/** Returns whether a flow says that its result tells of a loss. Throws InvariantThrew as `readList` does. */
function readTells(tells: NonNullable<FlowOptions['tells']>, result: unknown): boolean {
  const list = () => {
    const found: unknown = tells(result as never)
    return typeof found === 'boolean' ? [found] : found
  }
  const [first] = readList('tells', list, result, () => true, 'true, false or a list of what is missing')
  return first !== undefined && first !== false
}

const isText = (value: unknown) => typeof value === 'string'
const isObject = (value: unknown) => typeof value === 'object' && value !== null

/** Returns what a function of a flow finds in a result. Throws InvariantThrew if it throws or returns something else. */
function readList(
  name: 'own' | 'lines' | 'tells',
  read: (result: never) => unknown,
  result: unknown,
  isItem: (value: unknown) => boolean,
  form: string,
): readonly unknown[] {
  let found: unknown
  try {
    found = read(result as never)
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : quote(cause)
    throw new InvariantThrew(`Failed to read the result of the flow: ${name} threw ${quote(text)}. Return ${form}.`, {
      cause,
    })
  }
  if (Array.isArray(found) && found.every(isItem)) return found
  throw new InvariantThrew(
    `Failed to read the result of the flow: ${name} returned ${quote(found)}. Return ${form}; an empty one for none.`,
  )
}
