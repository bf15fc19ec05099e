/** What an id names, and its present state in sentences. */

import { BATCH_LIFECYCLE } from '../../data/records/enums.ts'
import { GPU_TYPES } from '../../data/records/gpu-config.ts'
import { formatDuration } from '../../kernel/duration.ts'
import type { Entry } from '../../kernel/journal.ts'
import { isParked, isTerminal } from '../../simulation/deployments/deployment-row.ts'
import type { World } from '../../simulation/world.ts'
import type { Simulator } from '../simulator.ts'
import type { Causes } from './causes.ts'
import { describeDeployment, describeInstance } from './deployment-words.ts'
import type { Thing, ThingKind } from './explanation.ts'
import { describeEntry } from './kind-sentences.ts'
import { describeRule } from './request-words.ts'
import { formatCents, formatNumberOf, formatValue, quoteText } from './sentence.ts'
import { describeIdleBatch, waitOf, waitOfInstance } from './waits.ts'

/** What a finder says of a thing. Default: the id is the one that was asked for, and its own entries have it as subject. */
type FoundThing = Omit<Thing, 'id' | 'isOwn'> & Partial<Pick<Thing, 'id' | 'isOwn'>>
/** Finds a thing by its id or name. */
type Finder = (sim: Simulator, id: string, causes: Causes) => FoundThing | undefined

/** The last losses of instances of a deployment, at one time, and the instances that became ready since. */
interface Outage {
  readonly lost: readonly Entry[]
  readonly back: readonly Entry[]
}

function findOutage(id: string, entries: readonly Entry[]): Outage | undefined {
  const own = entries.filter(({ kind, subject }) => kind.startsWith('instance.') && subject.startsWith(`${id}-`))
  const losses = own.filter(({ kind }) => /^instance\.(?:lost|crashed)$/.test(kind))
  const last = losses.at(-1)
  if (last === undefined) return undefined
  const back = own.filter(({ kind, seq }) => kind === 'instance.ready' && seq > last.seq)
  return { lost: losses.filter(({ time }) => time === last.time), back }
}

/** Says when the last instances of a deployment were lost, why, and when as many were ready again. */
function describeOutage({ clock }: World, { lost, back }: Outage): string[] {
  const [count, last] = [lost.length, lost.at(-1)!]
  const end = back[count - 1]
  const more = count === 1 ? '' : ` In all, ${count} instances were lost then.`
  const beginning = `At ${clock.iso(last.time)}: ${describeEntry(last)}${more}`
  if (end === undefined)
    return back.length === 0 ? [beginning] : [beginning, `Since then, ${back.length} became ready.`]
  const said = count === 1 ? `: ${describeEntry(end)}` : ', as many were ready again.'
  return [beginning, `After ${formatDuration(end.time - last.time)}, at ${clock.iso(end.time)}${said}`]
}

const findDeployment: Finder = ({ world }, id, causes) => {
  const row = world.deployments.findById(id)
  if (row === undefined) return undefined
  const isServed = row.plan.hasInstances && !isTerminal(row.status) && !isParked(row)
  const wait = isServed ? waitOf(world, row) : undefined
  const isMissing = wait?.cause === 'quota' || wait?.cause === 'suspension'
  const waits = isServed && row.ready === 0
  const outage = findOutage(id, causes.entries)
  const isDegraded =
    isServed && row.ready < row.desired && outage !== undefined && outage.back.length < outage.lost.length
  return {
    kind: 'deployment',
    sentences: [
      ...describeDeployment(world, row),
      ...(waits || outage === undefined ? [] : describeOutage(world, outage)),
    ],
    isOver: row.status === 'deleted' && row.instances.length === 0,
    isOwn: ({ kind, subject }) => subject === id || (kind.startsWith('instance.') && subject.startsWith(`${id}-`)),
    // A deployment whose instances were lost keeps its status.
    decides: ({ kind, subject }) =>
      (subject === id && (isStatus(kind) || (isMissing && kind === 'deployment.limited'))) ||
      (isDegraded && /^instance\.(?:lost|crashed)$/.test(kind)),
    began: wait?.began,
  }
}

/** Tells whether an entry of a deployment is more than a wish of its autoscaler. */
function isStatus(kind: string): boolean {
  return !/^(?:deployment\.(?:scaled\w+|limited|resized|woken)|adapter\.(?:resident|evicted|described))$/.test(kind)
}

const findInstance: Finder = ({ world }, id, causes) => {
  for (const [, row] of world.instances.entries()) {
    if (row.id !== id) continue
    const { began } = waitOfInstance(world, row) ?? {}
    return { kind: 'instance', sentences: describeInstance(world, row), began }
  }
  const last = causes.of(id).at(-1)
  if (last === undefined || !last.kind.startsWith('instance.')) return undefined
  const sentences = [`${formatValue(id)} is an instance that has ended.`]
  return { kind: 'instance', sentences, isOver: true }
}

const findRental: Finder = ({ world }, id) => {
  const row = world.rentals.findById(id)
  if (row === undefined) return undefined
  const noun = row.kind === 'hosted' ? 'hosted instance' : 'container'
  const sentences = [`${formatValue(id)} is a ${noun} named ${formatValue(row.name)}.`, `Its state is ${row.state}.`]
  if (row.kind === 'container') {
    const place = row.node < 0 ? 'It has no GPUs now' : `It has GPUs of the node ${world.nodes.read(row.node).id}`
    sentences.push(`${place}; it asks for ${row.numGpus} of the type ${row.gpu}.`)
  }
  if (row.kind === 'hosted') sentences.push(`Its storage has ${row.storageGb} GB.`)
  if (row.failReason !== '') sentences.push(`Its reason is ${quoteText(row.failReason)}.`)
  sentences.push(row.isBilled ? 'It is billed now.' : 'It is not billed now.')
  return { kind: row.kind, sentences, decides: ({ kind }) => !kind.endsWith('.renamed') }
}

const findBatch: Finder = ({ world }, id) => {
  const batch = world.batches.get(id)
  if (batch === undefined) return undefined
  const { status, request_counts: counts, expires_at, input_file_id } = batch.toRecord()
  const sentences = [
    `${formatValue(id)} is a batch with the input file ${formatValue(input_file_id)}.`,
    `Its status is ${status}.`,
  ]
  if (counts !== null) {
    sentences.push(`It has completed ${counts.completed} of its ${counts.total} lines, and ${counts.failed} failed.`)
  }
  sentences.push(...describeIdleBatch(world, world.batches.findById(id)!))
  if (status === 'in_progress' || status === 'validating') {
    sentences.push(`Its completion window ends at ${world.clock.iso(expires_at * 1e6 - world.clock.epochMs * 1000)}.`)
  }
  const isOver = BATCH_LIFECYCLE.terminal.has(status)
  return {
    kind: 'batch',
    sentences,
    isOver,
    decides: ({ kind }) => kind !== 'batch.progressed',
  }
}

/** Finds a line of a batch by its `custom_id`. */
const findBatchLine: Finder = ({ world }, id) => {
  for (const [, { id: batch, work }] of world.batches.entries()) {
    const index = work?.lines.positionOf(id) ?? -1
    if (work === undefined || index < 0) continue
    const { completed, failed } = world.batches.get(batch)!.toRecord().request_counts!
    const line = work.lines.at(index)
    const isDone = index < completed + failed
    const state = !isDone ? 'has not run yet' : line.error === undefined ? 'is complete' : 'failed'
    return {
      kind: 'batch_line',
      sentences: [
        `${formatValue(id)} is a line of the batch ${batch}, which runs it as number ${index + 1} of ${work.lines.length}.`,
        `It ${state}. The batch has done ${completed + failed} lines.`,
        ...(line.error === undefined ? [] : [`The error of the line is ${quoteText(line.error.message)}.`]),
      ],
      isOwn: ({ subject }) => subject === batch,
    }
  }
  return undefined
}

const findFile: Finder = ({ world }, id, causes) => {
  const file = world.files.get(id)
  if (file === undefined) {
    const isFile = causes.of(id).at(-1)?.kind.startsWith('file.')
    if (!isFile) return undefined
    const sentences = [`${formatValue(id)} is a file that is gone.`]
    return { kind: 'file', sentences, isOver: true }
  }
  const { filename, bytes, purpose, expiresAt } = file
  return {
    kind: 'file',
    sentences: [
      `${formatValue(id)} is the file ${formatValue(filename)} with ${formatNumberOf(bytes, 'byte')}, for the purpose ${formatValue(purpose)}.`,
      `It is deleted at ${world.clock.iso(expiresAt)}.`,
    ],
  }
}

const findNode: Finder = ({ world }, id) => {
  const [, name = id, gpu] = /^([^/]+)\/(\d{1,3})$/.exec(id) ?? []
  const ordinal = world.nodes.ordinalOf(name)
  if (ordinal === undefined) return undefined
  const { state, gpus, free, gpu: type, zone, pool, broken, slowdown } = world.nodes.view(ordinal)
  if (gpu !== undefined && Number(gpu) >= gpus) return undefined
  const isBroken = gpu !== undefined && (world.nodes.read(ordinal).broken & (1 << Number(gpu))) !== 0
  const sentences = [
    `${name} is a node with ${formatNumberOf(gpus, 'GPU')} of the type ${type}, in the zone ${zone} and the pool ${pool}.`,
    `Its state is ${state}. Free GPUs: ${free}.`,
  ]
  if (broken > 0) sentences.push(`Broken GPUs: ${broken}.`)
  if (slowdown !== 1) sentences.push(`It is slower by the factor ${Math.round(slowdown * 100) / 100}.`)
  if (gpu !== undefined) sentences.push(`Its GPU ${Number(gpu)} ${isBroken ? 'is broken' : 'works'}.`)
  return { kind: 'node', id: name, sentences, decides: ({ kind }) => !/Evicted$/.test(kind) }
}

const findToken: Finder = ({ world }, id) => {
  const { store, apiTokens } = world
  const token = store.tokens.all().find(({ token_id, name }) => token_id === id || name === id)
  const isRevoked = apiTokens.revokedIds.includes(id)
  if (token === undefined && !isRevoked) return undefined
  const tokenId = token?.token_id ?? id
  const name = token === undefined ? '' : ` named ${formatValue(token.name)}`
  const sentences = [
    `${formatValue(tokenId)} is an API token${name}.`,
    isRevoked ? 'It is revoked, so requests with it get 401.' : 'It is valid.',
  ]
  if (token !== undefined && token.allowed_ips.length > 0) {
    sentences.push(
      `It may be used from these addresses alone: ${token.allowed_ips.slice(0, 5).map(formatValue).join(', ')}.`,
    )
  }
  return { kind: 'token', id: tokenId, sentences, isOwn: ({ fields }) => fields?.token_id === tokenId }
}

const findAccount: Finder = ({ world, ledger }, id) => {
  const { uid, suspensionReason } = world.ledger
  if (id !== uid && id !== 'account' && id !== world.store.account.display_name) return undefined
  const sentences = [
    `${uid} is the account ${formatValue(world.store.account.display_name)}.`,
    suspensionReason === undefined ? 'It is not suspended.' : `It is suspended (${formatValue(suspensionReason)}).`,
    `Its remaining funds are ${formatCents(ledger.balance / 1e6)}.`,
  ]
  if (!world.ledger.topups.isCardAccepted) sentences.push('Its card declines charges.')
  const kinds = /^(?:account|funds|topup|card|spendingLimit|limit|rateLimit)\./
  return {
    kind: 'account',
    id: uid,
    sentences,
    isOwn: ({ kind, subject }) => subject === uid && kinds.test(kind),
    decides: ({ kind }) => suspensionReason === undefined || kind === 'account.suspended',
  }
}

const findRule: Finder = (sim, id, causes) => {
  const view = sim.faults.list().find(rule => rule.id === id)
  const isRule = ({ kind, subject }: Entry) => subject === id && kind.startsWith('fault.')
  if (view !== undefined) return { kind: 'fault', sentences: describeRule(view), isOwn: isRule }
  if (!causes.of(id).some(isRule)) return undefined
  const sentences = [`${formatValue(id)} is a fault rule that was removed.`]
  return { kind: 'fault', sentences, isOver: true, isOwn: isRule }
}

const findTimeline: Finder = (sim, id) => {
  const view = sim.timelines.get(id)
  if (view === undefined) return undefined
  const { state, done, total, title, nextAt } = view
  const sentences = [
    `${formatValue(id)} is the timeline of the scenario ${quoteText(title)}.`,
    `Its state is ${state}, and ${done} of ${total ?? 'an unlimited number of'} steps are due or past.`,
  ]
  if (nextAt !== undefined) {
    sentences.push(`Its next step comes in ${formatDuration(nextAt - sim.clock.elapsed)}.`)
  }
  const isOwn = ({ kind, subject }: Entry) => subject === id && kind.startsWith('scenario.')
  return { kind: 'scenario', sentences, isOwn }
}

/** Finds a model by its name: the newest deployment of the account that has it, or a model of the catalog. */
const findModel: Finder = (sim, id, causes) => {
  const { deployments, store } = sim.world
  const rows = [...deployments.entries()].filter(([, { plan }]) => plan.modelName === id)
  const newest = rows.sort(([, a], [, b]) => b.plan.createdAt - a.plan.createdAt)[0]?.[1]
  if (newest !== undefined) {
    const thing = findDeployment(sim, newest.id, causes)!
    return {
      ...thing,
      id: newest.id,
      sentences: [`${formatValue(id)} is the model of the deployment ${newest.id}.`, ...thing.sentences],
    }
  }
  const model = store.models.get(id)
  if (model === undefined) return undefined
  return {
    kind: 'model',
    sentences: [`${formatValue(id)} is a model of the catalog. The provider serves it on shared capacity.`],
    isOwn: ({ kind, subject, fields }) => subject === id || (kind.startsWith('catalog.') && fields?.model === id),
  }
}

/** Finds a voice or an SSH key of the account by its id. */
const findAccountItem: Finder = ({ world: { store } }, id) => {
  const voice = store.voices.get(id)
  const item = voice ?? store.sshKeys.get(id)
  if (item === undefined) return undefined
  const [kind, noun] = voice === undefined ? (['ssh_key', 'an SSH key'] as const) : (['voice', 'a voice'] as const)
  const sentences = [`${formatValue(id)} is ${noun} named ${formatValue(item.name)}.`]
  return { kind, sentences, isOwn: ({ subject, fields }) => subject === id || fields?.[`${kind}_id`] === id }
}

/** Finds a record of a table of own endpoints. */
const findOwnRecord: Finder = ({ world }, id) => {
  const row = world.ownRecords.findRow(id)
  if (row === undefined) return undefined
  const sentences = [`${formatValue(id)} is a ${row.kind}. Its status is ${row.status}.`]
  return { kind: 'other', sentences, isOver: row.hasEnded && row.change === 0 }
}

const NAMED_FIELDS: readonly (readonly [field: string, noun: string, kind: ThingKind])[] = [
  ['voice_id', 'a voice', 'voice'],
  ['ssh_key_id', 'an SSH key', 'ssh_key'],
  ['token_id', 'an API token that is gone', 'token'],
  ['zone', 'a zone that the fleet does not have', 'zone'],
  ['gpu', 'a GPU type that the fleet does not have', 'gpu_type'],
  ['pool', 'a pool that the fleet does not have', 'pool'],
  ['repo', 'a repository of the model hub', 'repository'],
]

/** Finds what the journal alone knows: an answer of a model, and things that entries of the account name. */
const findInJournal: Finder = (_, id, causes) => {
  const last = causes.of(id).at(-1)
  if (last !== undefined && last.kind !== 'request') {
    const isAnswer = /^(?:inference|webhook)\./.test(last.kind)
    const noun = isAnswer ? 'the answer to a request to a model' : 'a thing of the journal'
    const sentences = [`${formatValue(id)} is ${noun}.`]
    return { kind: isAnswer ? 'answer' : 'other', sentences }
  }
  for (const [field, noun, kind] of NAMED_FIELDS) {
    if (!causes.entries.some(({ fields }) => fields?.[field] === id)) continue
    const sentences = [`${formatValue(id)} is ${noun}.`]
    return { kind, sentences, isOwn: ({ fields }) => fields?.[field] === id }
  }
  return undefined
}

const FINDERS: readonly Finder[] = [
  findDeployment,
  findInstance,
  findRental,
  findBatch,
  findFile,
  findNode,
  findToken,
  findAccount,
  findRule,
  findTimeline,
  findModel,
  findAccountItem,
  findOwnRecord,
  ({ world }, id) => findFleetThing(world, id),
  findBatchLine,
  findInJournal,
]

/** Returns the thing with an id or a name; undefined if the world and its journal know none. */
export function findThing(sim: Simulator, id: string, causes: Causes): Thing | undefined {
  for (const find of FINDERS) {
    const found = find(sim, id, causes)
    if (found === undefined) continue
    const thing = { id, ...found }
    return { isOwn: ({ subject }) => subject === thing.id, ...thing }
  }
  return undefined
}

/** Returns the ids and names that can be explained, for the advice about an unknown one. */
export function knownIds(sim: Simulator, causes: Causes): Set<string> {
  const { deployments, instances, rentals, batches, files, nodes, store, ledger } = sim.world
  const ids = new Set(causes.subjects)
  for (const [, { id, plan }] of deployments.entries()) ids.add(id).add(plan.modelName)
  for (const table of [instances, rentals, batches, nodes]) for (const [, { id }] of table.entries()) ids.add(id)
  for (const { id } of files.list()) ids.add(id)
  for (const { group } of nodes.groups) ids.add(group.gpu).add(group.zone).add(group.pool)
  for (const { token_id } of store.tokens.all()) ids.add(token_id)
  for (const { id } of sim.faults.list()) ids.add(id)
  return ids.add(ledger.uid).add('account')
}

const isOf =
  (what: string) =>
  ({ kind }: Entry): boolean =>
    kind.startsWith(`${what}.`)

/** Finds a GPU type, a zone or a pool of the fleet. */
function findFleetThing(world: World, id: string): FoundThing | undefined {
  const { nodes, environment, gpuQuotas, ledger } = world
  const groups = nodes.groups.map(({ group }) => group)
  const own = nodes.list()
  const gpu = GPU_TYPES.find(type => type === id)
  if (gpu !== undefined && groups.some(group => group.gpu === gpu)) {
    const quota = gpuQuotas.get(gpu)
    const sentences = [
      `${id} is a GPU type. ${describeNodes(own.filter(node => node.gpu === gpu))}`,
      environment.isStockedOut(gpu) ? 'It is out of stock, so that no GPU of it is assigned.' : 'It is in stock.',
      `A GPU of it costs ${formatCents(ledger.meters.priceCentsPerHour(gpu))} an hour.`,
      quota === null
        ? 'The account has no quota for it.'
        : `The quota of the account is ${quota} of them, and it holds ${gpuQuotas.held(gpu)}.`,
    ]
    return { kind: 'gpu_type', sentences, isOwn: ({ fields }) => fields?.gpu === gpu, decides: isOf('pool') }
  }
  if (groups.some(({ zone }) => zone === id)) {
    const sentences = [
      `${formatValue(id)} is a zone. ${describeNodes(own.filter(({ zone }) => zone === id))}`,
      environment.isZoneDown(id) ? 'It is down.' : 'It is up.',
    ]
    return { kind: 'zone', sentences, isOwn: ({ fields }) => fields?.zone === id, decides: isOf('zone') }
  }
  const group = groups.find(({ pool }) => pool === id)
  if (group === undefined) return undefined
  const { zone, market } = group
  const sentences = [
    `${formatValue(id)} is a pool of ${market} nodes in the zone ${formatValue(zone)}.`,
    describeNodes(own.filter(({ pool }) => pool === id)),
  ]
  return { kind: 'pool', sentences, isOwn: ({ fields }) => fields?.pool === id, decides: isOf('pool') }
}

function describeNodes(nodes: readonly { readonly gpus: number; readonly free: number }[]): string {
  const sum = (field: 'gpus' | 'free') => nodes.reduce((total, node) => total + node[field], 0)
  return `It has ${formatNumberOf(nodes.length, 'node')} with ${formatNumberOf(sum('gpus'), 'GPU')}, of which ${sum('free')} are free.`
}
