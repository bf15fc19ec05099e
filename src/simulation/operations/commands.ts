import { GPUS } from '../../data/gpu-specs.ts'
import type { Profile } from '../../data/profiles/load.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { EntryHandle } from '../../kernel/agenda.ts'
import type { Archive } from '../../kernel/archive.ts'
import { type Micros, micros } from '../../kernel/duration.ts'
import { type Generation, Row, Table } from '../../kernel/table.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { isIpRange } from '../../lib/ip-ranges.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import type { ApiTokens } from '../account/api-tokens.ts'
import type { GpuQuotas } from '../account/gpu-quotas.ts'
import type { Ledger } from '../account/ledger.ts'
import { CommandError } from '../command-error.ts'
import type { SimulationContext } from '../context.ts'
import type { Deployments } from '../deployments/deployments.ts'
import type { Nodes } from '../fleet/nodes.ts'
import { XIDS } from '../fleet/xid.ts'
import type { OperationEffects } from './effects.ts'

/** What a verb acts on: `h100-0`, `h100-0/3` for a GPU, a pool, a zone, a GPU type, a repository, a token id; '' for what there is one of. */
export type CommandTarget =
  | 'node'
  | 'gpu'
  | 'pool'
  | 'zone'
  | 'gpuType'
  | 'repository'
  | 'token'
  | 'deployment'
  | 'limitRequest'
  | 'none'

export type ArgumentKind =
  | 'duration'
  | 'factor'
  | 'share'
  | 'xid'
  | 'times'
  | 'cents'
  | 'countOrNone'
  | 'reason'
  | 'addresses'
export type CommandArguments = Readonly<Record<string, string | number | boolean | null | readonly string[]>>

/** Something the user of the simulator does to the world, as data. */
export interface Command {
  /** `node.crash`, `hub.throttle`, … */
  readonly verb: string
  readonly target?: string
  readonly args?: CommandArguments
}

/** What commands act on. */
interface CommandParts extends CommandsParts {
  readonly profile: Profile
}

interface CommandDefinition {
  readonly target: CommandTarget
  /** The verb that puts right what this one does. */
  readonly undo: string | undefined
  readonly description: string
  readonly args?: Readonly<Record<string, { readonly kind: ArgumentKind; readonly optional?: true }>>
  apply(world: CommandParts, target: string, args: CommandArguments): void
}

const SUSPENSION_REASONS = ['payment-method', 'overdue-invoices', 'limit-reached', 'admin', 'bad-cc'] as const

/** Every verb there is: the one list for code, scenarios, control plane and command line. */
export const COMMANDS = {
  'node.crash': {
    target: 'node',
    undo: 'node.repair',
    description: 'the machine dies; every instance on it is lost',
    apply: (world, name) => world.operationEffects.crash(requireNode(world, name), 'node.crashed'),
  },
  'node.repair': {
    target: 'node',
    undo: 'node.crash',
    description: 'the machine is back, with empty caches; one that is up has its GPUs that need service replaced',
    apply: (world, name) => world.operationEffects.repair(requireNode(world, name)),
  },
  'node.cordon': {
    target: 'node',
    undo: 'node.uncordon',
    description: 'it takes nothing new; what runs stays',
    apply: (world, name) => world.operationEffects.cordon(requireNode(world, name)),
  },
  'node.uncordon': {
    target: 'node',
    undo: 'node.cordon',
    description: 'it takes instances again',
    apply: (world, name) => world.operationEffects.uncordon(requireNode(world, name)),
  },
  'node.drain': {
    target: 'node',
    undo: 'node.uncordon',
    description: 'it takes nothing new, and what runs on it moves elsewhere',
    apply: (world, name) => world.operationEffects.drain(requireNode(world, name)),
  },
  'disk.fill': {
    target: 'node',
    undo: 'disk.free',
    description: 'no weights can be downloaded to it',
    apply: (world, name) => world.operationEffects.setDisk(requireNode(world, name), true),
  },
  'disk.free': {
    target: 'node',
    undo: 'disk.fill',
    description: 'there is room on its disk again',
    apply: (world, name) => world.operationEffects.setDisk(requireNode(world, name), false),
  },
  'gpu.fail': {
    target: 'gpu',
    undo: 'gpu.reset',
    description: 'an XID error: the instance on it is lost; what else depends on the code',
    args: { xid: { kind: 'xid' } },
    apply: (world, name, { xid }) => {
      const [node, gpu] = requireGpu(world, name)
      world.operationEffects.failGpu(node, gpu, Number(xid))
    },
  },
  'deployment.crash': {
    target: 'deployment',
    undo: undefined,
    description: 'the engine of its oldest instance exits and is started again; with times, so do its next starts',
    args: { times: { kind: 'times', optional: true } },
    apply: (world, deploy_id, { times }) => {
      if (world.deployments.crashEngine(requireDeployment(world, deploy_id), Number(times ?? 1))) return
      throw new CommandError(
        `Failed to crash deployment '${deploy_id}': no engine of it runs. Advance the clock until it is deploying.`,
      )
    },
  },
  'gpu.reset': {
    target: 'gpu',
    undo: 'gpu.fail',
    description: 'the GPU is sound again; one that needs service takes a repair of its node',
    apply: (world, name) => {
      const [node, gpu] = requireGpu(world, name)
      if (world.operationEffects.resetGpu(node, gpu)) return
      const { id } = world.nodes.read(node)
      throw new CommandError(
        `Failed to reset the GPU '${name}': it needs service. Repair its node with 'node.repair' of '${id}'.`,
      )
    },
  },
  'node.degrade': {
    target: 'node',
    undo: 'node.recover',
    description: 'its GPUs are slower by a factor; nothing else shows',
    args: { factor: { kind: 'factor' } },
    apply: (world, name, { factor }) => world.operationEffects.setSlowdown(requireNode(world, name), Number(factor)),
  },
  'node.recover': {
    target: 'node',
    undo: 'node.degrade',
    description: 'its GPUs have their speed back',
    apply: (world, name) => world.operationEffects.setSlowdown(requireNode(world, name), 1),
  },
  'node.preempt': {
    target: 'node',
    undo: undefined,
    description: 'a spot node is taken back after a notice',
    args: { notice: { kind: 'duration', optional: true } },
    apply: (world, name, { notice }) => {
      const node = requireNode(world, name)
      if (world.nodes.read(node).group.market !== 'spot') {
        throw new CommandError(
          `Failed to preempt '${name}': it is no spot node, and only those are taken back. Crash or drain it instead.`,
        )
      }
      world.operationEffects.preemptNode(node, toNotice(world, notice))
    },
  },
  'pool.preempt': {
    target: 'pool',
    undo: undefined,
    description: 'the spot nodes of a pool are taken back after a notice; new ones may be provisioned',
    args: { notice: { kind: 'duration', optional: true } },
    apply: (world, pool, { notice }) =>
      world.operationEffects.preemptPool(requirePool(world, pool), toNotice(world, notice)),
  },
  'pool.stockOut': {
    target: 'gpuType',
    undo: 'pool.restock',
    description: 'no GPU of a type is handed out any more; what runs goes on',
    apply: (world, gpu) => world.operationEffects.setStock(requireGpuType(gpu), false),
  },
  'pool.restock': {
    target: 'gpuType',
    undo: 'pool.stockOut',
    description: 'GPUs of a type are to be had again',
    apply: (world, gpu) => world.operationEffects.setStock(requireGpuType(gpu), true),
  },
  'zone.down': {
    target: 'zone',
    undo: 'zone.up',
    description: 'every node of a zone is gone at once',
    apply: (world, zone) => world.operationEffects.takeZoneDown(requireZone(world, zone)),
  },
  'zone.up': {
    target: 'zone',
    undo: 'zone.down',
    description: 'the nodes that went down with their zone are back, caches and all',
    apply: (world, zone) => world.operationEffects.bringZoneUp(requireZone(world, zone)),
  },
  'hub.down': {
    target: 'none',
    undo: 'hub.up',
    description: 'downloads stall and, after a while, are given up',
    apply: world => world.operationEffects.setHub({ hubDown: true }, 'hub.down'),
  },
  'hub.up': {
    target: 'none',
    undo: 'hub.down',
    description: 'the hub answers again',
    apply: world => world.operationEffects.setHub({ hubDown: false }, 'hub.up'),
  },
  'hub.throttle': {
    target: 'none',
    undo: 'hub.unthrottle',
    description: 'downloads run at a share of their rate',
    args: { share: { kind: 'share' } },
    apply: (world, _, { share }) => world.operationEffects.setHub({ hubShare: Number(share) }, 'hub.throttled'),
  },
  'hub.unthrottle': {
    target: 'none',
    undo: 'hub.throttle',
    description: 'downloads have their rate back',
    apply: world => world.operationEffects.setHub({ hubShare: 1 }, 'hub.unthrottled'),
  },
  'hub.gate': {
    target: 'repository',
    undo: 'hub.open',
    description: 'a repository answers 401 without a token',
    apply: (world, repo) => world.operationEffects.setRepository(repo, 'gated'),
  },
  'hub.open': {
    target: 'repository',
    undo: 'hub.gate',
    description: 'a repository is handed out to everybody',
    apply: (world, repo) => world.operationEffects.setRepository(repo, 'open'),
  },
  'hub.remove': {
    target: 'repository',
    undo: 'hub.open',
    description: 'a repository answers 404',
    apply: (world, repo) => world.operationEffects.setRepository(repo, 'missing'),
  },
  'registry.down': {
    target: 'none',
    undo: 'registry.up',
    description: 'images can not be pulled',
    apply: world => world.operationEffects.setRegistryDown(true),
  },
  'registry.up': {
    target: 'none',
    undo: 'registry.down',
    description: 'images can be pulled again',
    apply: world => world.operationEffects.setRegistryDown(false),
  },
  'autoscaler.freeze': {
    target: 'none',
    undo: 'autoscaler.free',
    description: 'nothing is asked for and nothing given up: what is lost stays lost',
    apply: world => world.operationEffects.setAutoscalerFrozen(true),
  },
  'autoscaler.free': {
    target: 'none',
    undo: 'autoscaler.freeze',
    description: 'the autoscaler makes up for what it missed',
    apply: world => world.operationEffects.setAutoscalerFrozen(false),
  },
  'provisioning.slow': {
    target: 'none',
    undo: 'provisioning.normal',
    description: 'new nodes take longer by a factor',
    args: { factor: { kind: 'factor' } },
    apply: (world, _, { factor }) => world.operationEffects.setProvisioningFactor(Number(factor)),
  },
  'provisioning.normal': {
    target: 'none',
    undo: 'provisioning.slow',
    description: 'new nodes take their usual time',
    apply: world => world.operationEffects.setProvisioningFactor(1),
  },
  'card.decline': {
    target: 'none',
    undo: 'card.accept',
    description: 'charges to the card fail',
    apply: world => world.ledger.setCardAccepted(false),
  },
  'card.accept': {
    target: 'none',
    undo: 'card.decline',
    description: 'charges to the card go through; a failed top-up is made up for',
    apply: world => world.ledger.setCardAccepted(true),
  },
  'topup.delay': {
    target: 'none',
    undo: 'topup.normal',
    description: 'automatic top-ups come this much later, one under way included',
    args: { by: { kind: 'duration' } },
    apply: (world, _, { by }) => world.ledger.setTopupDelay(micros(by as string)),
  },
  'topup.normal': {
    target: 'none',
    undo: 'topup.delay',
    description: 'they come as soon as ever; one that is late comes now',
    apply: world => world.ledger.setTopupDelay(0),
  },
  'price.set': {
    target: 'gpuType',
    undo: undefined,
    description: 'a GPU of a type costs this much an hour from now on',
    args: { cents: { kind: 'cents' } },
    apply: (world, gpu, { cents }) => world.ledger.setPrice(requireGpuType(gpu), Number(cents)),
  },
  'limit.set': {
    target: 'gpuType',
    undo: undefined,
    description: 'the account may hold this many GPUs of a type; null for no limit',
    args: { limit: { kind: 'countOrNone' } },
    apply: (world, gpu, { limit }) => world.gpuQuotas.setByCommand(requireGpuType(gpu), limit as number | null),
  },
  'limit.approve': {
    target: 'gpuType',
    undo: 'limit.deny',
    description: 'the pending request for a type is approved now',
    apply: (world, gpu) => decideQuotaRequest(world, gpu, 'approved'),
  },
  'limit.deny': {
    target: 'gpuType',
    undo: 'limit.approve',
    description: 'the pending request for a type is denied now',
    apply: (world, gpu) => decideQuotaRequest(world, gpu, 'denied'),
  },
  'account.suspend': {
    target: 'none',
    undo: 'account.resume',
    description: 'creates answer 402, and what runs stops after the grace',
    args: { reason: { kind: 'reason', optional: true } },
    apply: (world, _, { reason }) => world.ledger.suspend((reason ?? 'admin') as (typeof SUSPENSION_REASONS)[number]),
  },
  'account.resume': {
    target: 'none',
    undo: 'account.suspend',
    description: 'the account may spend again, unless it has no funds',
    apply: world => {
      if (world.ledger.resume()) return
      throw new CommandError(
        "Failed to obey 'account.resume': the account is out of funds. Add some with POST /payment/funds.",
      )
    },
  },
  'token.revoke': {
    target: 'token',
    undo: 'token.restore',
    description: 'requests with it answer 401',
    apply: (world, token) => world.apiTokens.revoke(token),
  },
  'token.restore': {
    target: 'token',
    undo: 'token.revoke',
    description: 'it is good again',
    apply: (world, token) => world.apiTokens.restore(token),
  },
  'token.allowIps': {
    target: 'token',
    undo: undefined,
    description: 'requests with it are answered from these addresses alone; none means from everywhere',
    args: { addresses: { kind: 'addresses' } },
    apply: (world, token, { addresses }) => world.apiTokens.setAllowedAddresses(token, addresses as readonly string[]),
  },
} as const satisfies Readonly<Record<string, CommandDefinition>>

export type CommandName = keyof typeof COMMANDS

export { CommandError }

/** A command that is obeyed again and again: with so much time between, so often in all; for ever unless said. */
export interface Repetition {
  readonly interval: Micros
  readonly times?: number | undefined
}

/** Names a command that waits for its moment, in its world and in what is forked from it. */
export interface ScheduledCommand {
  readonly ordinal: number
  /** How often its slot was used. */
  readonly use: number
}

/** A command that waits for its moment. */
export class ScheduledCommandRow extends Row {
  readonly command: Command
  readonly interval: Micros
  /** How often it is still obeyed. */
  remaining: number
  /** Its place on the agenda. */
  event: EntryHandle = 0

  constructor(generation: Generation, id: string, command: Command, interval: Micros, left: number) {
    super(generation, id)
    this.command = command
    this.interval = interval
    this.remaining = left
  }

  copy(generation: Generation): ScheduledCommandRow {
    const copy = new ScheduledCommandRow(generation, this.id, this.command, this.interval, this.remaining)
    copy.event = this.event
    return copy.takeHash(this)
  }
}

/** The parts below that it uses. */
export interface CommandsParts {
  readonly operationEffects: OperationEffects
  readonly nodes: Nodes
  readonly deployments: Deployments
  readonly ledger: Ledger
  readonly gpuQuotas: GpuQuotas
  readonly apiTokens: ApiTokens
}

/** Commands to the world: checked, then obeyed at once or at their moment. */
export class Commands {
  readonly #context: SimulationContext
  readonly #targets: CommandParts
  readonly #table: Table<ScheduledCommandRow>

  constructor(context: SimulationContext, parts: CommandsParts, origin?: Commands) {
    this.#context = context
    this.#targets = { ...parts, profile: context.profile }
    this.#table = origin
      ? origin.#table.fork(origin.#context.generation, context.generation)
      : new Table(context.generation)
  }

  archive(archive: Archive): void {
    this.#table.archive(archive)
  }

  /** Throws CommandError for a command that could not be obeyed now. */
  assertExecutable(command: Command): void {
    assertValid(this.#targets, command)
  }

  /**
   * Obeys a command now, or `delay` microseconds from now and, with `repeat`, again after that.
   *
   * @returns what `withdraw` takes; undefined for a command that has been obeyed
   * @throws CommandError, before anything has changed
   */
  schedule(command: Command, delay = 0, repetition?: Repetition): ScheduledCommand | undefined {
    const definition = assertValid(this.#targets, command)
    if (delay === 0) {
      definition.apply(this.#targets, command.target ?? '', command.args ?? {})
      this.#context.commandExecuted(command.verb, command.target ?? '')
      return undefined
    }
    const { interval = 0, times = repetition === undefined ? 1 : Number.POSITIVE_INFINITY } = repetition ?? {}
    const table = this.#table
    const ordinal = table.add(new ScheduledCommandRow(table.generation, command.verb, command, interval, times))
    table.writable(ordinal).event = this.#context.schedule(delay, 'command.due', ordinal)
    return { ordinal, use: table.useCount(ordinal) }
  }

  /** Takes back a command before its moment, with what it would repeat. False when there is nothing left of it. */
  cancel({ ordinal, use }: ScheduledCommand): boolean {
    const row = this.#table.find(ordinal)
    if (row === undefined || this.#table.useCount(ordinal) !== use) return false
    this.#context.agenda.cancel(row.event)
    this.#table.remove(ordinal)
    return true
  }

  fire(ordinal: number): void {
    const { command, interval, remaining } = this.#table.read(ordinal)
    if (remaining > 1) {
      const row = this.#table.writable(ordinal)
      row.remaining--
      row.event = this.#context.schedule(interval, 'command.due', ordinal)
    } else this.#table.remove(ordinal)
    try {
      assertValid(this.#targets, command).apply(this.#targets, command.target ?? '', command.args ?? {})
    } catch (error) {
      // What it was meant for has gone in the meantime: that is how it went, not a fault of anybody's.
      if (!(error instanceof CommandError)) throw error
      this.#context.recordCommand(this.#targets.ledger.account, 'command.missed', {
        verb: command.verb,
        reason: error.message,
      })
    }
  }
}

function assertValid(world: CommandParts, command: Command): CommandDefinition {
  const definition: CommandDefinition | undefined = Object.hasOwn(COMMANDS, command.verb)
    ? COMMANDS[command.verb as CommandName]
    : undefined
  if (!definition) {
    const known = Object.keys(COMMANDS)
    const advice = formatSuggestion(command.verb, known, `Verbs are ${known.join(', ')}.`)
    throw new CommandError(`Failed to obey '${command.verb}': there is no such verb. ${advice}`)
  }
  const args = command.args ?? {}
  assertKnownKeys(args, Object.keys(definition.args ?? {}), `Failed to obey '${command.verb}'`, {
    noun: 'argument',
    ErrorType: CommandError,
  })
  for (const [name, { kind, optional }] of Object.entries(definition.args ?? {})) {
    const value = args[name]
    if (value === undefined && optional) continue
    const advice = value === undefined ? ADVICE[kind] : argumentProblem(kind, value)
    if (advice === undefined) continue
    // JSON would call what is no number null.
    const formattedValue = typeof value === 'number' ? String(value) : JSON.stringify(value)
    const problem = value === undefined ? 'is missing' : `is ${formattedValue}`
    throw new CommandError(`Failed to obey '${command.verb}': ${name} ${problem}. ${advice}`)
  }
  const target = command.target ?? ''
  if (definition.target === 'node') requireNode(world, target)
  else if (definition.target === 'gpu') requireGpu(world, target)
  else if (definition.target === 'pool') requirePool(world, target)
  else if (definition.target === 'zone') requireZone(world, target)
  else if (definition.target === 'gpuType') requireGpuType(target)
  else if (definition.target === 'deployment') requireDeployment(world, target)
  else if (definition.target === 'token') world.apiTokens.require(target)
  else if (definition.target === 'repository' && target === '') {
    throw new CommandError(`Failed to obey '${command.verb}': name a repository, as in 'owner/name'.`)
  }
  return definition
}

function decideQuotaRequest(world: CommandParts, gpu: string, decision: 'approved' | 'denied'): void {
  if (world.gpuQuotas.decideByCommand(requireGpuType(gpu), decision)) return
  const commandName = decision === 'approved' ? 'limit.approve' : 'limit.deny'
  throw new CommandError(
    `Failed to obey '${commandName}': no request for ${gpu} is pending. File one with POST /v1/me/gpu_limit/request first.`,
  )
}

function toNotice(world: CommandParts, notice: CommandArguments[string] | undefined): Micros {
  return notice === undefined ? world.profile.timings.spotNotice : micros(notice as string)
}

const ADVICE: Readonly<Record<ArgumentKind, string>> = {
  duration: "Give a duration, as in '2m'.",
  factor: 'Give a factor from 1 to 1,000.',
  share: 'Give a share above 0 and up to 1.',
  xid: `Give one of the codes ${Object.keys(XIDS).join(', ')}.`,
  times: 'Give an integer from 1 to 1,000.',
  cents: 'Give cents per hour from 0 to 1,000,000,000.',
  countOrNone: 'Give an integer from 0 to 9,007,199,254,740,991, or null for none.',
  reason: `Give one of ${SUSPENSION_REASONS.join(', ')}.`,
  addresses: "Give a list of addresses and ranges, as in ['203.0.113.0/24'].",
}

/** What to give instead; undefined when the value will do. */
function argumentProblem(kind: ArgumentKind, value: NonNullable<unknown> | null): string | undefined {
  return isValidArgument(kind, value) ? undefined : ADVICE[kind]
}

function isValidArgument(kind: ArgumentKind, value: unknown): boolean {
  const number = typeof value === 'number' ? value : Number.NaN
  switch (kind) {
    case 'duration':
      try {
        micros(value as string)
        return true
      } catch {
        return false
      }
    case 'factor':
      return number >= 1 && number <= 1000
    case 'share':
      return number > 0 && number <= 1
    case 'xid':
      return XIDS[number] !== undefined
    case 'times':
      return Number.isInteger(value) && number >= 1 && number <= 1000
    case 'cents':
      return number >= 0 && number <= 1e9
    case 'countOrNone':
      return value === null || (Number.isSafeInteger(number) && number >= 0)
    case 'reason':
      return (SUSPENSION_REASONS as readonly unknown[]).includes(value)
    case 'addresses':
      return Array.isArray(value) && value.every(one => typeof one === 'string' && isIpRange(one))
  }
}

function requireNode(world: CommandParts, name: string): number {
  const ordinal = world.nodes.ordinalOf(name)
  if (ordinal !== undefined) return ordinal
  throw unknownTargetError(
    'node',
    name,
    world.nodes.list().map(node => node.name),
    'cluster.nodes() lists them',
  )
}

function requireGpu(world: CommandParts, name: string): [node: number, gpu: number] {
  const slash = name.lastIndexOf('/')
  const node = requireNode(world, slash < 0 ? name : name.slice(0, slash))
  const gpu = slash < 0 ? Number.NaN : Number(name.slice(slash + 1))
  const { gpus } = world.nodes.read(node).group
  if (Number.isInteger(gpu) && gpu >= 0 && gpu < gpus) return [node, gpu]
  throw new CommandError(
    `Failed to find the GPU '${name}': the node has GPUs 0 to ${gpus - 1}. Write it 'node/number'.`,
  )
}

function requireDeployment(world: CommandParts, deploy_id: string): number {
  const ordinal = world.deployments.ordinalOf(deploy_id)
  if (ordinal !== undefined && world.deployments.read(ordinal).plan.type === 'llm') return ordinal
  const problem = ordinal === undefined ? 'there is none of that id' : 'it has no instances of its own'
  throw new CommandError(`Failed to find the deployment '${deploy_id}': ${problem}. GET /deploy/list lists them.`)
}

function requirePool(world: CommandParts, name: string): string {
  const pools = [...new Set(world.nodes.groups.map(({ group }) => group.pool))]
  if (pools.includes(name)) return name
  throw unknownTargetError('pool', name, pools, `pools are ${pools.join(', ')}`)
}

function requireZone(world: CommandParts, name: string): string {
  const zones = [...new Set(world.nodes.groups.map(({ group }) => group.zone))]
  if (zones.includes(name)) return name
  throw unknownTargetError('zone', name, zones, `zones are ${zones.join(', ')}`)
}

function requireGpuType(name: string): GpuType {
  if (Object.hasOwn(GPUS, name)) return name as GpuType
  const types = Object.keys(GPUS)
  const advice = formatSuggestion(name, types, `Types are ${types.join(', ')}.`)
  throw new CommandError(`Failed to find the GPU type '${name}': no pool has it. ${advice}`)
}

function unknownTargetError(targetKind: string, name: string, known: readonly string[], advice: string): CommandError {
  const fallback = `${advice.charAt(0).toUpperCase()}${advice.slice(1)}.`
  const hint = formatSuggestion(name, known, fallback)
  return new CommandError(`Failed to find the ${targetKind} '${name}': the fleet has none of that name. ${hint}`)
}
