/** The form of an entry in a table of commands, and what commands act on. Each `require` throws a CommandError. */
import { GPUS } from '../../data/gpu-specs.ts'
import type { Profile } from '../../data/profiles/load.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import { type Duration, type Micros, micros } from '../../kernel/duration.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { attempt } from '../../lib/errors.ts'
import { isIpRange } from '../../lib/ip-ranges.ts'
import type { Batch } from '../batches/batch-handle.ts'
import { CommandError } from '../command-error.ts'
import type { Nodes } from '../fleet/nodes.ts'
import { XIDS } from '../fleet/xid.ts'
import type { Store } from '../store.ts'
import type { AccountParts } from './account-deletion.ts'
import type { CatalogChanges } from './catalog-changes.ts'
import type { OperationEffects } from './effects.ts'

/** The parts below that it uses. */
export interface CommandsParts extends Omit<AccountParts, 'inferenceRequests' | 'ownRecords' | 'sshKeys' | 'voices'> {
  readonly operationEffects: OperationEffects
  readonly nodes: Nodes
}

/** A noun and an example of each kind of target. A GPU is written as `h100-0/3`, node and index. */
const TARGET_NOUNS = {
  node: ['node', 'h100-0'],
  gpu: ['GPU', 'h100-0/3'],
  pool: ['pool', 'h100'],
  zone: ['zone', 'east-a'],
  gpuType: ['GPU type', 'H100-80GB'],
  offeredGpuType: ['GPU type', 'H100-80GB'],
  model: ['model of the catalog', 'aurora-labs/aurora-8b-instruct'],
  repository: ['repository of the model hub', 'acme/model'],
  token: ['API token', 'default'],
  deployment: ['deployment', '2cZeTxVFN7tKxCCh'],
  hosted: ['hosted instance', 'inst_HmSomZNCU5EAVUqwFpxpN9vc'],
  batch: ['batch', 'batch_HmSomZNCU5EAVUqwFpxpN9vc'],
  file: ['file', 'file_HSCZDQPBeSpnXB5vXxnzQcds'],
} as const satisfies Readonly<Record<string, readonly [noun: string, example: string]>>

/** The kind of thing that a command acts on, by name or id. */
export type CommandTarget = keyof typeof TARGET_NOUNS

export type CommandArguments = Readonly<Record<string, string | number | boolean | null | readonly string[]>>

/** The parts that commands act on, the reference data and the profile. */
export interface CommandTargets extends CommandsParts {
  readonly profile: Profile
  readonly store: Store
  readonly catalog: CatalogChanges
}

/** An entry of a command table. */
export interface CommandDefinition {
  /** Undefined for a command without a target, which gets ''. */
  readonly target?: CommandTarget
  /** The command that reverses this one. */
  readonly undo?: string
  readonly description: string
  readonly args?: Readonly<Record<string, { readonly kind: ArgumentKind; readonly optional?: true }>>
  apply(world: CommandTargets, target: string, args: CommandArguments): void
}

/** A command table: command names and their entries. */
export type CommandTable = Readonly<Record<string, CommandDefinition>>

/**
 * Rejects a missing target of a command that needs one, and a target of a command that takes none.
 *
 * @param nodeName returns a node for the example in the error
 */
export function assertTargetPresence(
  verb: string,
  kind: CommandTarget | undefined,
  target: string | undefined,
  nodeName?: () => string | undefined,
): void {
  if (kind === undefined) {
    if (target === undefined || target === '') return
    throw new CommandError(
      `Failed to execute '${verb}': the command takes no target, got ${JSON.stringify(target)}. Remove target.`,
    )
  }
  if (target !== undefined && target !== '') return
  const [noun, example] = TARGET_NOUNS[kind]
  const article = /^[AEIOU]/i.test(noun) ? 'an' : 'a'
  const node = nodeName?.() ?? 'h100-0'
  const name = kind === 'node' ? node : kind === 'gpu' ? `${node}/0` : example
  throw new CommandError(
    `Failed to execute '${verb}': target is missing. Give ${article} ${noun}, as in "target": "${name}".`,
  )
}

/** Returns the ordinal of a node. Rejects an unknown name with the nearest known one. */
export function requireNode(world: CommandTargets, name: string): number {
  const ordinal = world.nodes.ordinalOf(name)
  if (ordinal !== undefined) return ordinal
  const names = nodeNames(world)
  throw unknownTargetError('node', name, names, formatNames(names))
}

/** Returns the ordinal of a node and the index of its GPU, for a name as `h100-0/3`. */
export function requireGpu(world: CommandTargets, name: string): [node: number, gpu: number] {
  const slash = name.lastIndexOf('/')
  const node = requireNode(world, slash < 0 ? name : name.slice(0, slash))
  const gpu = slash < 0 ? Number.NaN : Number(name.slice(slash + 1))
  const { gpus } = world.nodes.read(node).group
  if (Number.isInteger(gpu) && gpu >= 0 && gpu < gpus) return [node, gpu]
  throw new CommandError(
    `Failed to find the GPU '${name}': the node has GPUs 0 to ${gpus - 1}. Write it 'node/number'.`,
  )
}

/** Returns the ordinal of a deployment, also of an adapter unless it must have instances. */
export function requireDeployment(world: CommandTargets, deploy_id: string, hasInstances = false): number {
  const ordinal = world.deployments.ordinalOf(deploy_id)
  if (ordinal !== undefined && (!hasInstances || world.deployments.read(ordinal).plan.hasInstances)) return ordinal
  const problem = ordinal === undefined ? 'its id is unknown' : 'it has no instances of its own'
  throw new CommandError(`Failed to find the deployment '${deploy_id}': ${problem}. GET /deploy/list lists them.`)
}

/** Returns the ordinal of a hosted instance. */
export function requireHosted({ rentals }: CommandTargets, instance_id: string): number {
  const ordinal = rentals.ordinalOf(instance_id)
  if (ordinal !== undefined && rentals.read(ordinal).kind === 'hosted') return ordinal
  throw new CommandError(
    `Failed to find the hosted instance '${instance_id}': its id is unknown. GET /v1/hosted lists them.`,
  )
}

/** Returns the batch with an id. */
export function requireBatch({ batches }: CommandTargets, batch_id: string): Batch {
  const batch = batches.get(batch_id)
  if (batch !== undefined) return batch
  throw new CommandError(`Failed to find the batch '${batch_id}': its id is unknown. GET /v1/batches lists them.`)
}

/** Rejects a name that is not a model of the catalog. */
export function requireModel({ store }: CommandTargets, name: string): void {
  if (store.models.has(name)) return
  const names = store.models.all().map(({ model_name }) => model_name)
  const advice = formatSuggestion(name, names, 'GET /models/list lists them.')
  throw new CommandError(`Failed to find the model '${name}': the catalog has none of that name. ${advice}`)
}

/** Returns what rejects an unknown pool or zone. */
function requireOneOf(kind: 'pool' | 'zone'): (world: CommandTargets, name: string) => void {
  return ({ nodes }, name) => {
    const names = [...new Set(nodes.groups.map(({ group }) => group[kind]))]
    if (!names.includes(name)) throw unknownTargetError(kind, name, names, names.join(', '))
  }
}

/** Rejects an unknown GPU type. */
export function requireGpuType(name: string): GpuType {
  if (Object.hasOwn(GPUS, name)) return name as GpuType
  const types = Object.keys(GPUS)
  const advice = formatSuggestion(name, types, `Types are ${types.join(', ')}.`)
  throw new CommandError(`Failed to find the GPU type '${name}': the type is unknown. ${advice}`)
}

/** Rejects a GPU type that no pool of the fleet has. */
export function requireOfferedGpuType(world: CommandTargets, name: string): GpuType {
  const gpu = requireGpuType(name)
  const types = [...new Set(world.nodes.groups.map(({ group }) => group.gpu))]
  if (types.includes(gpu)) return gpu
  throw new CommandError(
    `Failed to find the GPU type '${name}': no pool has it. Types of this fleet are ${types.join(', ')}.`,
  )
}

/** The most names that an error lists. */
const MAX_LISTED_NAMES = 12

function formatNames(names: readonly string[]): string {
  if (names.length === 0) return 'missing in this fleet'
  const more = names.length - MAX_LISTED_NAMES
  return `${names.slice(0, MAX_LISTED_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

export function nodeNames(world: CommandTargets): string[] {
  return world.nodes.list().map(node => node.name)
}

function unknownTargetError(kind: string, name: string, known: readonly string[], list: string): CommandError {
  const fallback = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}s are ${list}.`
  const hint = formatSuggestion(name, known, fallback)
  return new CommandError(`Failed to find the ${kind} '${name}': the fleet has none of that name. ${hint}`)
}

/** Finds the target of a command by its kind, and throws if it is unknown. A command finds some kinds itself. */
const TARGET_CHECKS: Partial<Record<CommandTarget, (world: CommandTargets, target: string) => unknown>> = {
  ...{
    node: requireNode,
    gpu: requireGpu,
    pool: requireOneOf('pool'),
    zone: requireOneOf('zone'),
    model: requireModel,
  },
  ...{ deployment: requireDeployment, hosted: requireHosted, batch: requireBatch },
  ...{ gpuType: (_, gpu) => requireGpuType(gpu), offeredGpuType: requireOfferedGpuType },
  token: ({ apiTokens }, token) => apiTokens.require(token),
}

/** Rejects an unknown target of a kind, and one that is missing or not needed. */
export function assertTarget(
  world: CommandTargets,
  verb: string,
  kind: CommandTarget | undefined,
  target: string,
): void {
  assertTargetPresence(verb, kind, target, () => nodeNames(world)[0])
  if (kind !== undefined) TARGET_CHECKS[kind]?.(world, target)
}

/** The reasons for which a command can suspend the account. */
export const SUSPENSION_REASONS = ['payment-method', 'overdue-invoices', 'limit-reached', 'admin', 'bad-cc'] as const

/** A kind of arguments. `types` has no value: it carries the type of an argument. */
interface ArgumentRule<Value> {
  /** The advice of an error for an invalid value. */
  readonly advice: string
  readonly accepts: (value: unknown) => boolean
  readonly types?: { readonly value: Value }
}

function argument<Value>(advice: string, accepts: (value: unknown) => boolean): ArgumentRule<Value> {
  return { advice, accepts }
}

/** Declares an argument that is a number. */
function number(advice: string, accepts: (value: number) => boolean): ArgumentRule<number> {
  return argument(advice, value => typeof value === 'number' && accepts(value))
}

const isPrice = (cents: number) => cents >= 0 && cents <= 1e9

/** The kinds of arguments. */
export const ARGUMENTS = {
  duration: argument<Duration>(
    "Give a duration, as in '2m'.",
    value => attempt(() => micros(value as string)) !== undefined,
  ),
  factor: number('Give a factor from 1 to 1,000.', factor => factor >= 1 && factor <= 1000),
  share: number('Give a share above 0 and up to 1.', share => share > 0 && share <= 1),
  xid: number(`Give one of the codes ${Object.keys(XIDS).join(', ')}.`, xid => XIDS[xid] !== undefined),
  times: number('Give an integer from 1 to 1,000.', times => Number.isInteger(times) && times >= 1 && times <= 1000),
  usd: number('Give US dollars from 0 to 40,000,000.', usd => usd >= 0 && usd <= 40_000_000),
  cents: number('Give cents per hour from 0 to 1,000,000,000.', isPrice),
  centsPerMillion: number('Give cents per million tokens from 0 to 1,000,000,000.', isPrice),
  countOrNone: argument<number | null>(
    'Give an integer from 0 to 9,007,199,254,740,991, or null for none.',
    value => value === null || (Number.isSafeInteger(value) && Number(value) >= 0),
  ),
  reason: argument<string>(`Give one of ${SUSPENSION_REASONS.join(', ')}.`, value =>
    (SUSPENSION_REASONS as readonly unknown[]).includes(value),
  ),
  addresses: argument<readonly string[]>(
    "Give a list of addresses and ranges, as in ['203.0.113.0/24'].",
    value => Array.isArray(value) && value.every(address => typeof address === 'string' && isIpRange(address)),
  ),
}

export type ArgumentKind = keyof typeof ARGUMENTS
/** The type of the arguments of a kind. */
export type ArgumentOf<Kind extends ArgumentKind> =
  (typeof ARGUMENTS)[Kind] extends ArgumentRule<infer Value> ? Value : never

/** Returns the notice of a preemption. Default: the notice of the profile. */
export function toNotice({ profile }: { readonly profile: Profile }, notice: unknown): Micros {
  return notice === undefined ? profile.timings.spotNotice : micros(notice as string)
}
