import type { Archived } from '../kernel/archive.ts'
import { AccountAccess } from './account/access/account-access.ts'
import { ApiTokens } from './account/access/api-tokens.ts'
import { SshKeys } from './account/access/ssh-keys.ts'
import { GpuQuotas } from './account/gpu-quotas.ts'
import { Ledger } from './account/ledger.ts'
import { OwnRecords } from './account/own-records.ts'
import { Voices } from './account/voices.ts'
import { Batches } from './batches/batches.ts'
import { Files } from './batches/files.ts'
import { Autoscaler } from './deployments/autoscaler.ts'
import { Deployments } from './deployments/deployments.ts'
import { Instances } from './deployments/instances.ts'
import { LoraAdapters } from './deployments/lora-adapters.ts'
import { AccountModels } from './deployments/model-versions.ts'
import type { EventParts } from './events.ts'
import { Downloads } from './fleet/downloads.ts'
import { Environment } from './fleet/environment.ts'
import { NodeAutoscaler } from './fleet/node-autoscaler.ts'
import { Nodes } from './fleet/nodes.ts'
import { Placement } from './fleet/placement.ts'
import { Tenants } from './fleet/tenants.ts'
import { InferenceRequests } from './inference/requests.ts'
import { Webhooks } from './inference/webhooks.ts'
import { Commands } from './operations/commands.ts'
import { OperationEffects } from './operations/effects.ts'
import { Weather } from './operations/weather.ts'
import { ContextHolder } from './part.ts'
import { DeploymentLogs } from './recording/deployment-logs.ts'
import { UsageHistory } from './recording/history.ts'
import { Rentals } from './rentals/rentals.ts'

/**
 * The parts of a world, each after the lower parts that it calls. They get the world itself, and their types name what
 * they use of it.
 */
export abstract class WorldParts extends ContextHolder implements EventParts {
  readonly seed = this.context.seed
  readonly clock = this.context.clock
  readonly agenda = this.context.agenda
  readonly journal = this.context.journal
  readonly chance = this.context.chance
  readonly profile = this.context.profile
  readonly store = this.context.store
  readonly maxStorageBytes = this.context.maxStorageBytes
  /** The parts with state, in the order of the archive. The context comes before them. */
  protected readonly archivedParts: Archived[] = []

  readonly tenants = new Tenants()
  readonly environment = this.#archived(new Environment())
  readonly history = this.#archived(new UsageHistory(this.context))
  readonly deploymentLogs = this.#archived(new DeploymentLogs(this.context))
  readonly ledger = this.#archived(new Ledger(this.context))
  readonly gpuQuotas = this.#archived(new GpuQuotas(this.context, this))
  readonly apiTokens = this.#archived(new ApiTokens(this.context, this))
  readonly access = this.#archived(new AccountAccess(this.context, this))
  readonly voices = new Voices(this.context, this)
  readonly ownRecords = this.#archived(new OwnRecords(this.context, this))
  readonly sshKeys = new SshKeys(this.context, this)
  readonly nodes = this.#archived(new Nodes(this.context, this))
  readonly placement = this.#archived(new Placement(this.context, this))
  readonly nodeAutoscaler = new NodeAutoscaler(this.context, this)
  readonly downloads = new Downloads(this.context, this)
  readonly instances = this.#archived(new Instances(this.context, this))
  readonly modelVersions = this.#archived(new AccountModels(this.context))
  readonly deployments = this.#archived(new Deployments(this.context, this))
  readonly autoscaler = new Autoscaler(this.context, this)
  readonly loraAdapters = new LoraAdapters(this.context, this)
  readonly rentals = this.#archived(new Rentals(this.context, this))
  readonly webhooks = this.#archived(new Webhooks(this.context))
  readonly inferenceRequests = this.#archived(new InferenceRequests(this.context, this))
  readonly files = this.#archived(new Files(this.context))
  readonly batches = this.#archived(new Batches(this.context, this))
  readonly operationEffects = new OperationEffects(this.context, this)
  readonly commands = this.#archived(new Commands(this.context, this))
  readonly weather = this.#archived(new Weather(this.context, this))

  #archived<P extends Archived>(part: P): P {
    this.archivedParts.push(part)
    return part
  }
}
