/** What a sweep must have met, or it is not testing much: rare things, counted as they happen. */

import type { GpuType } from '../../src/data/records/gpu-config.ts'
import type { Entry } from '../../src/kernel/journal.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'

export const SOMETIMES = [
  'batch expired with partial output',
  'scale to zero, then a cold start',
  'placement failed for fragmentation while enough GPUs were free',
  'top-up declined, then recovered',
  'instance lost while draining',
  'deployment deleted during its download',
  'adapter evicted',
  'crash loop ended in failed',
  'GPU limit denied',
  'preemption during a batch',
  'zone outage with recovery',
  'suspension in mid-batch',
  'request refused for a full queue',
  'rental without GPUs gave up',
  'rental lost with its machine',
] as const
export type SometimesName = (typeof SOMETIMES)[number]

export interface Sometimes {
  /** Looks at what the journal does not tell; between two steps. */
  look(): void
  /** The counts; nothing is counted any more. */
  end(): Record<SometimesName, number>
}

/** Counts in a simulator from now on. */
export function sometimes(sim: Simulator): Sometimes {
  const met = Object.fromEntries(SOMETIMES.map(name => [name, 0])) as Record<SometimesName, number>
  const meet = (name: SometimesName) => {
    met[name]++
  }
  const statuses = new Map<string, string>()
  const slept = new Set<string>()
  const zonesDown = new Set<string>()
  let declined = false

  const hear = ({ kind, subject, fields }: Entry) => {
    const [thing, what] = kind.split('.') as [string, string]
    if (thing === 'deployment') {
      if (what === 'deleted' && statuses.get(subject) === 'downloading') meet('deployment deleted during its download')
      if (what === 'failed' && /^crash loop/.test(String(fields?.reason))) meet('crash loop ended in failed')
      if (what === 'idled' || (what === 'scaledDown' && fields?.to === 0)) slept.add(subject)
      statuses.set(subject, what)
      return
    }
    switch (kind) {
      case 'batch.expired': {
        const record = sim.world.batches.get(subject)?.toRecord().request_counts
        const done = (record?.completed ?? 0) + (record?.failed ?? 0)
        if (record && done > 0 && done < record.total) meet('batch expired with partial output')
        return
      }
      case 'instance.ready': {
        const deployment = subject.slice(0, subject.lastIndexOf('-'))
        if (slept.delete(deployment)) meet('scale to zero, then a cold start')
        return
      }
      case 'hosted.failed':
      case 'hosted.stopped':
      case 'container.failed':
        if (/^no node had/.test(String(fields?.reason))) meet('rental without GPUs gave up')
        if (/^(node|zone|GPU)/.test(String(fields?.reason))) meet('rental lost with its machine')
        return
      case 'topup.declined':
        declined = true
        return
      case 'topup.charged':
        if (declined) meet('top-up declined, then recovered')
        declined = false
        return
      case 'instance.lost': {
        if (fields?.state === 'draining') meet('instance lost while draining')
        return
      }
      case 'node.preemptionNoticed': {
        const { nodes, instances, batches } = sim.world
        const tenants = nodes.read(nodes.ordinalOf(subject)!).tenants.filter(one => one >= 0)
        if (tenants.some(one => batches.pacing.hasWorkFor(instances.read(one).deployment)))
          meet('preemption during a batch')
        return
      }
      case 'adapter.evicted':
        meet('adapter evicted')
        return
      case 'limit.denied':
        meet('GPU limit denied')
        return
      case 'zone.down':
        zonesDown.add(String(fields?.zone))
        return
      case 'zone.up':
        if (zonesDown.delete(String(fields?.zone))) meet('zone outage with recovery')
        return
      case 'account.suspended':
        if ([...sim.world.batches.entries()].some(([, row]) => row.status === 'in_progress' && row.doneLines > 0)) {
          meet('suspension in mid-batch')
        }
        return
    }
  }

  const stop = sim.journal.listen(hear)
  return {
    look: () => {
      if (isFragmented(sim)) meet('placement failed for fragmentation while enough GPUs were free')
    },
    end: () => {
      stop()
      for (const [, row] of sim.world.deployments.entries()) {
        if (row.flow.refused > 0) met['request refused for a full queue']++
      }
      return met
    },
  }
}

/** Whether an instance waits for GPUs that are free, but not on one node. */
function isFragmented(sim: Simulator): boolean {
  const { deployments, instances, nodes, environment } = sim.world
  const largest = new Map<GpuType, number>()
  for (const [, { state, deployment, next }] of instances.entries()) {
    // An instance in the queue for placement has no event of its own.
    if (state !== 'pending' || next !== 0) continue
    const { gpu, numGpus } = deployments.read(deployment)
    if (environment.isStockedOut(gpu) || nodes.free(gpu) < numGpus) continue
    let most = largest.get(gpu)
    if (most === undefined) {
      most = Math.max(
        0,
        ...nodes
          .list()
          .filter(node => node.gpu === gpu)
          .map(node => node.free),
      )
      largest.set(gpu, most)
    }
    if (most < numGpus) return true
  }
  return false
}
