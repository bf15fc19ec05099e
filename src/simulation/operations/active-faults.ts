import { GPU_TYPES } from '../../data/records/gpu-config.ts'
import type { ApiTokens } from '../account/access/api-tokens.ts'
import type { Ledger } from '../account/ledger.ts'
import type { Deployments } from '../deployments/deployments.ts'
import type { Environment } from '../fleet/environment.ts'
import type { Nodes } from '../fleet/nodes.ts'
import type { Command } from './commands.ts'

/** Something that is wrong with a world, and the command that puts it right. */
export interface ActiveFailure {
  /** As in `node h100-0 is down`. */
  readonly description: string
  /** Missing if the fleet has no node for the GPUs of a deployment: no command adds a GPU type. */
  readonly undo?: Command
}

/** The parts that a command can put right. */
export interface FailingParts {
  readonly environment: Environment
  readonly ledger: Ledger
  readonly nodes: Nodes
  readonly apiTokens: ApiTokens
  readonly deployments: Deployments
}

/**
 * Returns everything that is wrong now and that a command can put right, the fleet first. Last come deployments whose
 * instances wait for GPUs that no node can have. A lack of funds and the notice of a preemption are left out.
 */
export function activeFailures(world: FailingParts): ActiveFailure[] {
  const failures: ActiveFailure[] = []
  const add = (description: string, verb: string, target?: string) =>
    failures.push({ description, undo: target === undefined ? { verb } : { verb, target } })
  const { environment, ledger, nodes, apiTokens } = world

  const zones = new Set<string>()
  for (const [, row] of nodes.entries()) {
    const { id, state, group, broken } = row
    if (state === 'down' && row.downWithZone) zones.add(group.zone)
    else if (state === 'down') add(`node ${id} is down`, 'node.repair', id)
    // A node that is being taken back has an end planned; to uncordon it would only lure instances onto it.
    else if (state === 'cordoned' && row.next === 0) add(`node ${id} is cordoned`, 'node.uncordon', id)
    if (row.slowdown !== 1 && state !== 'down') add(`node ${id} is slow`, 'node.recover', id)
    if (row.diskFull && state !== 'down') add(`the disk of ${id} is full`, 'disk.free', id)
    for (let gpu = 0; gpu < group.gpus; gpu++) {
      if (!(broken & (1 << gpu)) || state === 'down') continue
      if (row.needService & (1 << gpu)) add(`GPU ${gpu} of ${id} needs service`, 'node.repair', id)
      else add(`GPU ${gpu} of ${id} is broken`, 'gpu.reset', `${id}/${gpu}`)
    }
  }
  for (const zone of [...zones].sort()) add(`zone ${zone} is down`, 'zone.up', zone)
  for (const gpu of GPU_TYPES) if (environment.isStockedOut(gpu)) add(`${gpu} is out of stock`, 'pool.restock', gpu)
  if (environment.hubDown) add('the hub is down', 'hub.up')
  if (environment.hubShare < 1) add('the hub is slow', 'hub.unthrottle')
  for (const [repo, state] of environment.repositoryStates) {
    if (state !== 'open') add(`repository ${repo} is ${state}`, 'hub.open', repo)
  }
  if (environment.registryDown) add('the image registry is down', 'registry.up')
  if (environment.autoscalerFrozen) add('the autoscaler is frozen', 'autoscaler.free')
  if (environment.provisioningFactor !== 1) add('provisioning is slow', 'provisioning.normal')
  if (!ledger.isCardAccepted) add('the card is declined', 'card.accept')
  if (ledger.suspension.isImposed) {
    add(`the account is suspended (${ledger.suspensionReason})`, 'account.resume')
  }
  for (const id of apiTokens.revokedIds) add(`token ${id} is revoked`, 'token.restore', id)
  for (const [, { id, plan, gpu, numGpus, instances }] of world.deployments.entries()) {
    if (instances.length === 0 || nodes.maxGpusPerNode(gpu) >= numGpus) continue
    failures.push({
      description: `deployment ${id} (${plan.modelName}) waits for ${numGpus}x${gpu}, which no node can have`,
    })
  }
  return failures
}
