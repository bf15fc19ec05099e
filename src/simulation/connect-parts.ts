import type { AccountObserver } from './account/observer.ts'
import type { SimulationContext } from './context.ts'
import { DeploymentRecorder } from './deployments/recorder.ts'
import type { Tenants } from './fleet/tenants.ts'
import type { World } from './world.ts'

/** Connects each part to the parts above it. */
export function connectParts(world: World, context: SimulationContext, tenants: Tenants): void {
  const { deployments, autoscaler, loraAdapters, batches, inferenceRequests, nodeAutoscaler, weather } = world
  const { history, deploymentLogs, instances, rentals } = world
  context.recorder = new DeploymentRecorder({ history, deploymentLogs, deployments })
  const account = { observer: accountObserver(world) }
  world.ledger.connect(account)
  world.gpuQuotas.connect(account)
  tenants.connect(instances, rentals)
  world.nodes.connect({ provisioner: nodeAutoscaler })
  world.placement.connect({ provisioner: nodeAutoscaler })
  nodeAutoscaler.connect({ observer: { onNodeAdded: ordinal => weather.addNode(ordinal) } })
  const work = { batches, inferenceRequests }
  instances.connect({ deployments, slots: loraAdapters.slots, ...work })
  deployments.connect({ autoscaler, loraAdapters, ...work })
  autoscaler.connect(work)
  loraAdapters.slots.connect(work)
  batches.connect({ world })
}

/** Returns the observer that applies changes of the account to the other parts, in their order. */
function accountObserver(world: World): AccountObserver {
  const { deployments, rentals, inferenceRequests, batches } = world
  return {
    onSuspensionEnded(wasCutOff) {
      if (wasCutOff) batches.rescheduleAll()
      deployments.scaling.onSuspensionEnded()
      deployments.onFundsReturned()
      rentals.onFundsReturned()
    },
    onGraceEnded(reason) {
      deployments.stopAllForFunds()
      rentals.stopForFunds(reason)
      inferenceRequests.onAccountCutOff(reason)
    },
    onCutOff: () => batches.rescheduleAll(),
    onQuotaAvailable: gpu => deployments.scaling.onQuotaAvailable(gpu),
  }
}
