import type { GpuQuotas } from './account/gpu-quotas.ts'
import type { Ledger } from './account/ledger.ts'
import type { AccountObserver } from './account/observer.ts'
import type { Batches } from './batches/batches.ts'
import type { LineWorld } from './batches/line-answering.ts'
import type { SimulationContext } from './context.ts'
import type { Autoscaler } from './deployments/autoscaler.ts'
import type { Deployments } from './deployments/deployments.ts'
import type { Instances } from './deployments/instances.ts'
import type { LoraAdapters } from './deployments/lora-adapters.ts'
import { DeploymentRecorder } from './deployments/recorder.ts'
import type { NodeAutoscaler } from './fleet/node-autoscaler.ts'
import type { Nodes } from './fleet/nodes.ts'
import type { Placement } from './fleet/placement.ts'
import type { Tenants } from './fleet/tenants.ts'
import type { InferenceRequests } from './inference/requests.ts'
import type { Weather } from './operations/weather.ts'
import type { DeploymentLogs } from './recording/deployment-logs.ts'
import type { UsageHistory } from './recording/history.ts'
import type { Rentals } from './rentals/rentals.ts'

/** The parts that call parts above them. A world has them all. */
interface ConnectedParts extends LineWorld {
  readonly autoscaler: Autoscaler
  readonly batches: Batches
  readonly deploymentLogs: DeploymentLogs
  readonly deployments: Deployments
  readonly gpuQuotas: GpuQuotas
  readonly history: UsageHistory
  readonly inferenceRequests: InferenceRequests
  readonly instances: Instances
  readonly ledger: Ledger
  readonly loraAdapters: LoraAdapters
  readonly nodeAutoscaler: NodeAutoscaler
  readonly nodes: Nodes
  readonly placement: Placement
  readonly rentals: Rentals
  readonly weather: Weather
}

/** Connects each part to the parts above it. */
export function connectParts(world: ConnectedParts, context: SimulationContext, tenants: Tenants): void {
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
function accountObserver(world: ConnectedParts): AccountObserver {
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
