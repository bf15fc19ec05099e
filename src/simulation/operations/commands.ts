import type { EntryHandle } from '../../kernel/agenda.ts'
import type { Archive } from '../../kernel/archive.ts'
import { type Micros, micros } from '../../kernel/duration.ts'
import { actFor } from '../../kernel/journal-origin.ts'
import { type Generation, Row } from '../../kernel/row.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import type { OpenName } from '../../lib/fields.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { CommandError } from '../command-error.ts'
import { isTerminal } from '../deployments/deployment-row.ts'
import { TablePart } from '../part.ts'
import { ACCOUNT_COMMANDS } from './account-commands.ts'
import { CatalogChanges } from './catalog-changes.ts'
import {
  ARGUMENTS,
  assertTarget,
  type CommandArguments,
  type CommandDefinition,
  type CommandsParts,
  type CommandTable,
  type CommandTargets,
  requireBatch,
  requireDeployment,
  requireGpuType,
  requireHosted,
  toNotice,
} from './command-definition.ts'
import { CommandLog } from './command-log.ts'
import { HUB_COMMANDS } from './hub-commands.ts'
import { NODE_COMMANDS } from './node-commands.ts'

/** Commands to the public catalog of models. */
const CATALOG_COMMANDS = {
  'model.deprecate': {
    target: 'model',
    undo: 'model.restore',
    description: 'the catalog shows a date of deprecation at once; new requests are refused from that date on',
    args: { after: { kind: 'duration', optional: true } },
    apply: (world, model, { after }) =>
      world.catalog.deprecate(model, after === undefined ? 0 : micros(after as string)),
  },
  'model.restore': {
    target: 'model',
    undo: 'model.deprecate',
    description: 'the model is current, without a date of deprecation',
    apply: (world, model) => world.catalog.restore(model),
  },
  'model.addVersion': {
    target: 'model',
    description: 'the model has a newer version',
    apply: (world, model) => world.catalog.addVersion(model),
  },
  'model.setInputPrice': {
    target: 'model',
    description: 'a million input tokens of new requests and batches cost so many cents',
    args: { cents: { kind: 'centsPerMillion' } },
    apply: (world, model, { cents }) => world.catalog.setPrice(model, 'input', Number(cents)),
  },
  'model.setOutputPrice': {
    target: 'model',
    description: 'a million output tokens of new requests and batches cost so many cents',
    args: { cents: { kind: 'centsPerMillion' } },
    apply: (world, model, { cents }) => world.catalog.setPrice(model, 'output', Number(cents)),
  },
} as const satisfies CommandTable

/** Commands to pools and zones. */
const POOL_COMMANDS = {
  'pool.preempt': {
    target: 'pool',
    description: 'the spot nodes of a pool are taken back after a notice; new ones may be provisioned',
    args: { notice: { kind: 'duration', optional: true } },
    apply: (world, pool, { notice }) => world.operationEffects.preemptPool(pool, toNotice(world, notice)),
  },
  'pool.stockOut': {
    target: 'offeredGpuType',
    undo: 'pool.restock',
    description: 'no GPU of a type is handed out any more; what runs goes on',
    apply: (world, gpu) => world.operationEffects.setStock(requireGpuType(gpu), false),
  },
  'pool.restock': {
    target: 'offeredGpuType',
    undo: 'pool.stockOut',
    description: 'GPUs of a type are to be had again',
    apply: (world, gpu) => world.operationEffects.setStock(requireGpuType(gpu), true),
  },
  'zone.down': {
    target: 'zone',
    undo: 'zone.up',
    description: 'every node of a zone is gone at once',
    apply: (world, zone) => world.operationEffects.takeZoneDown(zone),
  },
  'zone.up': {
    target: 'zone',
    undo: 'zone.down',
    description: 'the nodes that went down with their zone are back, caches and all',
    apply: (world, zone) => world.operationEffects.bringZoneUp(zone),
  },
} as const satisfies CommandTable

/** Returns a command that ends a batch, or its progress, if the status of the batch allows that. */
function endOfBatch(end: 'expire' | 'cancel' | 'fail' | 'stall', description: string) {
  const apply = (world: CommandTargets, batch_id: string) => {
    const batch = requireBatch(world, batch_id)
    // A batch that ends already can still be cancelled.
    const isOpen = end === 'cancel' || batch.status === 'validating' || batch.status === 'in_progress'
    if (isOpen && world.batches[end](batch.ordinal)) return
    throw new CommandError(
      `Failed to ${end} the batch '${batch_id}': it is ${batch.status}. Only a batch that is validating or in_progress ends early.`,
    )
  }
  return { target: 'batch', description, apply } as const
}

/** Returns a command that ends a deployment which has not ended. */
function endOfDeployment(end: 'stop' | 'delete' | 'fail', description: string) {
  const apply = (world: CommandTargets, deploy_id: string) => {
    const ordinal = requireDeployment(world, deploy_id)
    const { status } = world.deployments.read(ordinal)
    if (!isTerminal(status)) return world.deployments[end](ordinal, 'the weights cannot be loaded')
    throw new CommandError(`Failed to ${end} the deployment '${deploy_id}': it is ${status} already. Start it first.`)
  }
  return { target: 'deployment', description, apply } as const
}

/** Commands to single hosted instances, batches, deployments and files: what happens to them, or what others do. */
const THING_COMMANDS = {
  'hosted.crash': {
    target: 'hosted',
    description: 'the machine of a hosted instance is lost: it fails, or starts on another, by a policy of the profile',
    apply: (world, instance_id) => {
      if (world.rentals.crashMachine(requireHosted(world, instance_id))) return
      throw new CommandError(
        `Failed to crash hosted instance '${instance_id}': it has no machine. Advance the clock until it is starting.`,
      )
    },
  },
  'batch.expire': endOfBatch(
    'expire',
    'the completion window of a batch ends now: it expires with the lines that are done',
  ),
  'batch.cancel': endOfBatch(
    'cancel',
    'another user cancels a batch: it ends as cancelled with the lines that are done',
  ),
  'batch.fail': endOfBatch('fail', 'a batch that is validating or in_progress fails, without output'),
  'batch.stall': endOfBatch('stall', 'no further line of a batch is done until it expires'),
  'deployment.stop': endOfDeployment('stop', 'another user stops a deployment'),
  'deployment.delete': endOfDeployment('delete', 'another user deletes a deployment'),
  'deployment.fail': endOfDeployment('fail', 'a deployment or an adapter fails, because its weights cannot be loaded'),
  'file.delete': {
    target: 'file',
    description: 'another user deletes a file',
    apply: ({ files }, file_id) => {
      if (files.delete(file_id)) return
      throw new CommandError(`Failed to delete the file '${file_id}': its id is unknown. GET /v1/files lists them.`)
    },
  },
} as const satisfies CommandTable

/** Commands to the node autoscaler. */
const AUTOSCALER_COMMANDS = {
  'autoscaler.freeze': {
    undo: 'autoscaler.free',
    description: 'no instance is requested or released, and lost ones are not replaced',
    apply: world => world.operationEffects.setAutoscalerFrozen(true),
  },
  'autoscaler.free': {
    undo: 'autoscaler.freeze',
    description: 'the autoscaler makes up for what it missed',
    apply: world => world.operationEffects.setAutoscalerFrozen(false),
  },
  'provisioning.slow': {
    undo: 'provisioning.normal',
    description: 'new nodes take longer by a factor',
    args: { factor: { kind: 'factor' } },
    apply: (world, _, { factor }) => world.operationEffects.setProvisioningFactor(Number(factor)),
  },
  'provisioning.normal': {
    undo: 'provisioning.slow',
    description: 'new nodes take their usual time',
    apply: world => world.operationEffects.setProvisioningFactor(1),
  },
} as const satisfies CommandTable

/** Commands to API tokens. */
const TOKEN_COMMANDS = {
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
    description: 'requests with it are answered from these addresses alone; none means from everywhere',
    args: { addresses: { kind: 'addresses' } },
    apply: (world, token, { addresses }) => world.apiTokens.setAllowedAddresses(token, addresses as readonly string[]),
  },
} as const satisfies CommandTable

/** Every command: the one table for code, scenarios, the control API and the command line. */
export const COMMANDS = {
  ...NODE_COMMANDS,
  ...POOL_COMMANDS,
  ...HUB_COMMANDS,
  ...AUTOSCALER_COMMANDS,
  ...ACCOUNT_COMMANDS,
  ...TOKEN_COMMANDS,
  ...THING_COMMANDS,
  ...CATALOG_COMMANDS,
} as const satisfies CommandTable

export type CommandName = keyof typeof COMMANDS

/** An action of the user on the world, as data. */
export interface Command {
  /** `node.crash`, `hub.throttle`, … */
  readonly verb: OpenName<CommandName>
  readonly target?: string
  readonly args?: CommandArguments
}

export type { CommandArguments } from './command-definition.ts'
export { CommandError }

/** The repetition of a command: the time between two executions, and how many there are. Default of `times`: unlimited. */
export interface Repetition {
  readonly interval: Micros
  readonly times?: number | undefined
}

/** Identifies a scheduled command in its world and in the forks of that world. */
export interface ScheduledCommand {
  readonly ordinal: number
  /** How many commands used its slot so far. */
  readonly use: number
}

/** A scheduled command. */
export class ScheduledCommandRow extends Row {
  declare readonly command: Command
  declare readonly interval: Micros
  /** How many executions remain. */
  declare remaining: number
  /** Its event on the agenda. */
  event: EntryHandle = this.number(0)

  constructor(
    generation: Generation,
    id: string,
    initial: Pick<ScheduledCommandRow, 'command' | 'interval' | 'remaining'>,
  ) {
    super(generation, id)
    this.command = this.reference(initial.command)
    this.interval = this.number(initial.interval)
    this.remaining = this.number(initial.remaining)
  }
}

/** Commands to the world: checked first, then executed at once or as scheduled. */
export class Commands extends TablePart<ScheduledCommandRow, CommandsParts> {
  protected readonly table = this.tableOf(ScheduledCommandRow)
  readonly #targets: CommandTargets = {
    ...this.parts,
    profile: this.context.profile,
    store: this.context.store,
    catalog: new CatalogChanges(this.context, this.parts),
  }
  /** The executed commands, those of weather aside. */
  readonly log = new CommandLog()
  /** Called with each command of the user that was executed or scheduled. A fork has no listener. */
  onScheduled: ((command: Command, delay: number, repetition: Repetition | undefined) => void) | undefined

  override archive(archive: Archive): void {
    super.archive(archive)
    this.log.archive(archive)
  }

  /** Throws a CommandError if a command cannot be executed now. */
  assertExecutable(command: Command): void {
    assertValid(this.#targets, command)
  }

  /**
   * Executes a command now, or `delay` microseconds from now and, with `repetition`, again after that.
   *
   * @returns the argument of `cancel`; undefined for a command that was executed at once
   * @throws CommandError if the command is invalid; the world is unchanged then
   */
  schedule(given: Command, delay = 0, repetition?: Repetition): ScheduledCommand | undefined {
    const definition = assertValid(this.#targets, given)
    const isOfToken = definition.target === 'token'
    // Its value is a credential, and stays out of logs and recordings.
    const command = isOfToken ? { ...given, target: this.#targets.apiTokens.require(given.target!).token_id } : given
    if (delay === 0) {
      const { journal } = this.context
      const { cause } = journal
      this.execute(command, definition)
      // What follows outside of the command has another cause.
      journal.cause = cause
      this.#addToLog(command)
      this.onScheduled?.(command, delay, repetition)
      return undefined
    }
    const { interval = 0, times = repetition === undefined ? 1 : Number.POSITIVE_INFINITY } = repetition ?? {}
    const table = this.table
    const initial = { command, interval, remaining: times }
    const ordinal = table.add(new ScheduledCommandRow(table.generation, command.verb, initial))
    table.writable(ordinal).event = this.context.scheduleCommand(delay, 'command.due', ordinal)
    this.onScheduled?.(command, delay, repetition)
    return { ordinal, use: table.useCount(ordinal) }
  }

  /** Executes a command now. It is left out of the log, which is for the commands of the user. */
  execute(command: Command, definition: CommandDefinition = assertValid(this.#targets, command)): void {
    definition.apply(this.#targets, command.target ?? '', command.args ?? {})
    this.context.commandExecuted(command.verb, command.target ?? '')
  }

  #addToLog({ verb, target = '' }: Command): void {
    this.log.add({ at: this.context.clock.now, verb, target })
  }

  /** Cancels a scheduled command and its repetitions. Returns false if no execution remains. */
  cancel({ ordinal, use }: ScheduledCommand): boolean {
    const row = this.table.find(ordinal)
    if (row === undefined || this.table.useCount(ordinal) !== use) return false
    this.context.agenda.cancel(row.event)
    this.table.remove(ordinal)
    return true
  }

  /** Executes a scheduled command. A command that is no longer valid is recorded as missed. */
  onEvent(_: 'command.due', ordinal: number): void {
    const { command, interval, remaining } = this.table.read(ordinal)
    if (remaining > 1) {
      const row = this.table.writable(ordinal)
      row.remaining--
      row.event = this.context.schedule(interval, 'command.due', ordinal)
    } else this.table.remove(ordinal)
    // Its cause is what scheduled it.
    actFor(this.context.journal, this.context.journal.cause, () => this.#executeDue(command))
  }

  #executeDue(command: Command): void {
    try {
      assertValid(this.#targets, command).apply(this.#targets, command.target ?? '', command.args ?? {})
      this.#addToLog(command)
    } catch (error) {
      // The target can be gone by now. That is a result of the simulation, not an error of the caller.
      if (!(error instanceof CommandError)) throw error
      this.context.recordCommand(this.#targets.ledger.account, 'command.missed', {
        verb: command.verb,
        reason: error.message,
      })
    }
  }
}

/**
 * Rejects unknown, missing and invalid arguments of a command.
 *
 * @param isOpen whether a value becomes known later; it is not checked
 */
export function assertArguments(verb: string, args: CommandArguments, isOpen?: (value: unknown) => boolean): void {
  const definition = findDefinition(verb)
  assertKnownKeys(args, Object.keys(definition.args ?? {}), `Failed to execute '${verb}'`, {
    noun: 'argument',
    ErrorType: CommandError,
  })
  for (const [name, { kind, optional }] of Object.entries(definition.args ?? {})) {
    const value = args[name]
    if ((value === undefined && optional) || isOpen?.(value)) continue
    const { advice, accepts } = ARGUMENTS[kind]
    if (accepts(value)) continue
    // JSON writes NaN and Infinity as null.
    const formattedValue = typeof value === 'number' ? String(value) : JSON.stringify(value)
    const problem = value === undefined ? 'is missing' : `is ${formattedValue}`
    throw new CommandError(`Failed to execute '${verb}': ${name} ${problem}. ${advice}`)
  }
}

function findDefinition(verb: string): CommandDefinition {
  if (Object.hasOwn(COMMANDS, verb)) return COMMANDS[verb as CommandName]
  const known = Object.keys(COMMANDS)
  const advice = formatSuggestion(verb, known, `Commands are ${known.join(', ')}.`)
  throw new CommandError(`Failed to execute '${verb}': the command is unknown. ${advice}`)
}

/** Returns the definition of a command. Throws a CommandError if its name, its arguments or its target are invalid. */
function assertValid(world: CommandTargets, command: Command): CommandDefinition {
  const { verb, args = {} } = command
  const target = command.target ?? ''
  const definition = findDefinition(verb)
  assertArguments(verb, args)
  assertTarget(world, verb, definition.target, target)
  return definition
}
