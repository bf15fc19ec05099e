/** What a deployment or an instance is, and its state, in sentences. */

import type { DeploymentRow } from '../../simulation/deployments/deployment-row.ts'
import { isParked, isTerminal } from '../../simulation/deployments/deployment-row.ts'
import type { InstanceRow, InstanceState } from '../../simulation/deployments/instance-row.ts'
import type { World } from '../../simulation/world.ts'
import { formatNumberOf, formatValue, quoteText } from './sentence.ts'

const INSTANCE_WORDS: Readonly<Record<InstanceState, string>> = {
  pending: 'waits for GPUs',
  placed: 'has GPUs, and has not begun to start',
  pulling: 'gets its image and its weights',
  loading: 'loads its weights to the GPUs',
  warming: 'starts its engine',
  ready: 'is ready, and serves requests',
  draining: 'takes no new requests, and ends soon',
}

/** Says what a deployment is, its status, and what its instances do. */
export function describeDeployment(world: World, row: Readonly<DeploymentRow>): string[] {
  const { id, plan, status, failReason, instances, ready, desired } = row
  const isAdapter = plan.type === 'lora'
  const sentences = [
    `${formatValue(id)} is ${isAdapter ? 'a LoRA adapter' : 'a deployment'} of the model ${formatValue(plan.modelName)}.`,
    `Its status is ${status}.`,
  ]
  if (failReason !== '') sentences.push(`Its fail_reason is ${quoteText(failReason)}.`)
  if (!plan.hasInstances || isTerminal(status)) return sentences
  if (isParked(row)) return [...sentences, 'It is parked: its bounds allow no instance.']
  sentences.push(
    `It has ${formatNumberOf(instances.length, 'instance')} and wants ${desired}. Ready to serve: ${ready}.`,
  )
  if (ready === 0 && status === 'running') {
    sentences.push('It keeps the status running while no instance is ready, and requests wait.')
  }
  for (const ordinal of instances.slice(0, 3)) {
    const instance = world.instances.find(ordinal)
    if (instance !== undefined && instance.state !== 'ready') {
      sentences.push(`Its instance ${formatValue(instance.id)} ${INSTANCE_WORDS[instance.state]}.`)
      if (instance.state === 'pending') sentences.push(...reasonsOfWait(world, row))
    }
  }
  return [...new Set(sentences)]
}

/** Says what an instance is and does. */
export function describeInstance(world: World, { id, deployment, node, state }: Readonly<InstanceRow>): string[] {
  const row = world.deployments.read(deployment)
  const place = node < 0 ? 'It has no node.' : `It is on the node ${world.nodes.read(node).id}.`
  return [
    `${formatValue(id)} is an instance of the deployment ${formatValue(row.id)}.`,
    `It ${INSTANCE_WORDS[state]}.`,
    place,
    ...(state === 'pending' ? reasonsOfWait(world, row) : []),
  ]
}

/** Says why an instance of a deployment has no GPUs yet. */
function reasonsOfWait({ environment, nodes, gpuQuotas, ledger }: World, row: Readonly<DeploymentRow>): string[] {
  const { gpu, numGpus } = row
  const limit = gpuQuotas.get(gpu)
  const sentences = [
    `It needs ${formatNumberOf(numGpus, 'GPU')} of the type ${gpu} on one node. Free in the fleet: ${nodes.free(gpu)}.`,
  ]
  const down = nodes.list().filter(node => node.gpu === gpu && node.state === 'down')
  if (down.length > 0)
    sentences.push(
      `Nodes of this type are down: ${down
        .slice(0, 3)
        .map(({ name }) => name)
        .join(', ')}.`,
    )
  if (nodes.maxGpusPerNode(gpu) < numGpus) sentences.push('No node of the fleet can have so many of them.')
  if (environment.isStockedOut(gpu)) sentences.push(`GPUs of the type ${gpu} are out of stock.`)
  if (limit !== null && gpuQuotas.held(gpu) >= limit) sentences.push(`The quota of ${limit} of them is used up.`)
  if (environment.autoscalerFrozen) sentences.push('The autoscaler is frozen, so no node is added.')
  if (ledger.suspensionReason !== undefined) sentences.push('The account is suspended, so nothing new starts.')
  return sentences
}
