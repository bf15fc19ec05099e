/** What a deployment or an instance is, and its state, in sentences. */

import { type DeploymentRow, isParked, isTerminal } from '../../simulation/deployments/deployment-row.ts'
import type { InstanceRow } from '../../simulation/deployments/instance-row.ts'
import { engineView, formatEngine } from '../../simulation/deployments/instance-speed.ts'
import type { World } from '../../simulation/world.ts'
import { formatNumberOf, formatValue, quoteText } from './sentence.ts'
import { INSTANCE_WORDS, waitOf, waitOfInstance } from './waits.ts'

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
  if (desired === 0 && instances.length === 0 && status === 'running') {
    sentences.push('It is scaled to zero, because it had no work. The next request to it asks for an instance.')
  }
  const wait = waitOf(world, row)
  if (wait !== undefined) {
    sentences.push(
      `${ready === 0 ? 'It is not ready' : 'It has fewer ready instances than it wants'}, because ${wait.clause}.`,
    )
  }
  sentences.push(
    `It has ${formatNumberOf(instances.length, 'instance')} and wants ${desired}. Ready to serve: ${ready}.`,
  )
  const engine = engineView(row)
  if (engine !== null) sentences.push(`Each can make up to ${formatEngine(engine)}.`)
  if (ready === 0 && status === 'running') {
    sentences.push('It keeps the status running while no instance is ready, and requests wait.')
  }
  for (const ordinal of instances.slice(0, 3)) {
    const instance = world.instances.find(ordinal)
    if (instance !== undefined && instance.state !== 'ready') {
      sentences.push(`Its instance ${formatValue(instance.id)} ${INSTANCE_WORDS[instance.state]}.`)
      if (instance.state === 'pending') sentences.push(...needsOf(world, row))
    }
  }
  return [...new Set(sentences)]
}

/** Says what an instance is and does. */
export function describeInstance(world: World, instance: Readonly<InstanceRow>): string[] {
  const { id, deployment, node, state } = instance
  const row = world.deployments.read(deployment)
  const place = node < 0 ? 'It has no node.' : `It is on the node ${world.nodes.read(node).id}.`
  const wait = waitOfInstance(world, instance)
  return [
    `${formatValue(id)} is an instance of the deployment ${formatValue(row.id)}.`,
    `It ${INSTANCE_WORDS[state]}.`,
    place,
    ...(wait === undefined || wait.cause === 'starting' ? [] : [`It is not ready, because ${wait.clause}.`]),
    ...(state === 'pending' ? needsOf(world, row) : []),
  ]
}

/** Says what an instance of a deployment needs of the fleet, and what of that is not there. */
function needsOf({ nodes }: World, { gpu, numGpus }: Readonly<DeploymentRow>): string[] {
  const sentences = [
    `It needs ${formatNumberOf(numGpus, 'GPU')} of the type ${gpu} on one node. Free in the fleet: ${nodes.free(gpu)}.`,
  ]
  const named = (state: string) =>
    nodes
      .list()
      .filter(node => node.gpu === gpu && node.state === state)
      .slice(0, 3)
      .map(({ name }) => name)
      .join(', ')
  const [down, coming] = [named('down'), named('provisioning')]
  if (down !== '') sentences.push(`Nodes of this type are down: ${down}.`)
  if (coming !== '') sentences.push(`Nodes of this type are being provisioned: ${coming}.`)
  return sentences
}
