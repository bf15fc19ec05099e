/** What a node or a GPU is, in words. */
import { plural } from '../../parts/format.ts'
import { countGpus, type Fleet, type FleetGroup, type FleetNode, GPU_CODES } from './fleet-model.ts'

const STATE_WORDS: Readonly<Record<FleetNode['state'], string>> = {
  provisioning: 'being provisioned',
  ready: 'ready',
  cordoned: 'cordoned: takes nothing new',
  draining: 'draining: what runs moves elsewhere',
  down: 'down',
  gone: 'gone',
}

/** Returns the state of a node, with what is wrong with it: `ready, 2 times slower`. */
export function describeState({ state, slowdown, disk_full }: FleetNode): string {
  return [STATE_WORDS[state], slowdown === 1 ? '' : `${slowdown} times slower`, disk_full ? 'its disk is full' : '']
    .filter(Boolean)
    .join(', ')
}

/** Returns what a node is: `h100-0: ready, 3 of 8 GPUs held, 4 free, 1 unusable`. */
export function describeNode(node: FleetNode): string {
  const { gpus, held, free, others, unusable } = countGpus([node])
  const counts = [
    `${held} of ${plural(gpus, 'GPU')} held`,
    `${free} free`,
    others > 0 ? `${others} of other customers` : '',
    unusable > 0 ? `${unusable} unusable` : '',
  ]
  return `${node.name}: ${describeState(node)}, ${counts.filter(Boolean).join(', ')}`
}

/** Returns what a GPU does: `GPU 3: acme/chat, instance 2cZ…-0, ready, load 41 %`. */
export function describeGpu({ owners }: Fleet, node: FleetNode, gpu: number): string {
  const code = node.gpus[gpu]!
  if (code === GPU_CODES.broken) return `GPU ${gpu}: broken`
  if (code === GPU_CODES.others) return `GPU ${gpu}: held by another customer`
  const holder = node.holders[code]
  if (holder === undefined) return `GPU ${gpu}: ${node.state === 'ready' ? 'free' : 'unusable'}`
  const { name = '', kind = 'container', utilisation = null } = owners.get(holder.owner) ?? {}
  const what = kind === 'deployment' ? `instance ${holder.id}` : `container ${holder.id}`
  const load = utilisation === null ? '' : `, load ${Math.round(utilisation * 100)} %`
  return `GPU ${gpu}: ${name}, ${what}, ${holder.state}${load}`
}

/** Why a pool gives no GPU. */
export const UNAVAILABLE_WORDS: Readonly<Record<NonNullable<FleetGroup['unavailable']>['cause'], string>> = {
  stock_out: 'out of stock: gives no GPU',
  zone_down: 'zone down',
  spot_away: 'no spot nodes',
}
