import { draw } from '../../data/profiles/distribution.ts'
import { purpose } from '../../kernel/random.ts'
import type { GpuQuotas } from '../account/gpu-quotas.ts'
import type { Ledger } from '../account/ledger.ts'
import type { Environment } from '../fleet/environment.ts'
import { imageRefusal } from '../fleet/known-repositories.ts'
import { joinPull } from '../fleet/node-caches.ts'
import { hasImage } from '../fleet/node-row.ts'
import type { Nodes } from '../fleet/nodes.ts'
import type { Placement } from '../fleet/placement.ts'
import { toTenantId } from '../fleet/tenants.ts'
import { Part } from '../part.ts'
import type { UsageHistory } from '../recording/history.ts'
import type { RentalRow } from './rental-row.ts'

const IMAGE_PULL = purpose('rental.imagePull')
const BOOT = purpose('rental.boot')
const PLACEMENT = purpose('rental.placement')

/** The lower parts that rentals use. */
export interface RentalsParts {
  readonly nodes: Nodes
  readonly placement: Placement
  readonly environment: Environment
  readonly ledger: Ledger
  readonly gpuQuotas: GpuQuotas
  readonly history: UsageHistory
}

/** The resources that a rental takes and releases: quota, GPUs or machine, image and meter. It has no state of its own. */
export class RentalResources extends Part<RentalsParts> {
  /** Opens the meter of a new rental and records its creation. */
  openMeter(row: RentalRow): void {
    const { id, name, gpu, numGpus, plan } = row
    const { ledger } = this.parts
    if (plan.machine === undefined) {
      row.meter = ledger.meters.openGpus(id, 'container', gpu, numGpus)
      this.context.record(row, 'container.created', { name, gpu, num_gpus: numGpus })
      return
    }
    const { planId, region, centsPerHour } = plan.machine
    row.meter = ledger.meters.openMachine(id, 'hosted', centsPerHour)
    this.context.record(row, 'hosted.created', { name, plan_id: planId, region })
  }

  /** Counts the GPUs of a rental against its quota and adds the rental to the queue for placement. */
  requestPlace(ordinal: number, row: RentalRow): void {
    this.parts.gpuQuotas.acquire(row.gpu, row.numGpus)
    this.waitForPlace(ordinal, row)
  }

  /** Schedules the moment at which a rental joins the queue for placement. */
  waitForPlace(ordinal: number, row: RentalRow): void {
    const { profile, chance, clock } = this.context
    row.starts++
    row.since = clock.now
    const delay = draw(profile.timings.rentalPlacementDelay, chance, row.plan.key, PLACEMENT, row.starts)
    row.next = this.context.schedule(delay, 'rental.placementDue', ordinal)
  }

  /** Adds a rental to the queue for placement. It gives up after `timings.rentalCapacityWait`. */
  joinQueue(ordinal: number, row: RentalRow): void {
    row.next = this.context.schedule(this.context.profile.timings.rentalCapacityWait, 'rental.gaveUp', ordinal)
    this.parts.placement.enqueue(toTenantId(ordinal))
  }

  /** Allocates the GPUs of a rental on a node that has enough free GPUs. */
  takeGpus(ordinal: number, row: RentalRow, node: number): void {
    this.context.cancel(row.next)
    row.next = 0
    row.node = node
    row.gpus = this.parts.nodes.allocate(node, row.numGpus, toTenantId(ordinal))
    row.heldSince = this.context.clock.now
    this.updateMeter(row)
  }

  /** Gives a hosted instance its machine. */
  takeMachine(row: RentalRow): void {
    this.context.cancel(row.next)
    row.next = 0
    row.hasMachine = true
    this.updateMeter(row)
  }

  /** Starts a placed rental: a container pulls its image, a hosted instance boots from its storage. */
  startUp(ordinal: number, row: RentalRow): void {
    if (row.kind === 'hosted') this.#boot(ordinal, row)
    else this.#pullImage(ordinal, row)
  }

  /** Fetches the image of a container unless its node has it. Containers and instances share one pull of an image. */
  #pullImage(ordinal: number, row: RentalRow): void {
    const { image, key } = row.plan
    const { chance, clock, profile } = this.context
    const { environment, nodes } = this.parts
    const { timings } = profile
    if (imageRefusal(this.context, image) !== undefined) {
      row.next = this.context.schedule(timings.hubRefusal, 'rental.imageRefused', ordinal)
      return
    }
    row.pullsImage = !hasImage(nodes.read(row.node), image)
    if (row.pullsImage && environment.state.registryDown) {
      row.next = this.context.schedule(timings.hubTimeout, 'rental.pullTimedOut', ordinal)
      return
    }
    const drawDuration = () => draw(timings.imagePull, chance, key, IMAGE_PULL, row.starts)
    const duration = row.pullsImage ? joinPull(nodes.writable(row.node), image, clock.now, drawDuration) : 0
    row.next = this.context.schedule(duration, 'rental.imagePulled', ordinal)
  }

  /** Boots a container, whose image is now on its node. */
  onImagePulled(ordinal: number, row: RentalRow): void {
    this.parts.nodes.cacheImage(row.node, row.plan.image)
    this.context.record(row, 'container.imagePulled', { image: row.pullsImage ? 'fetched' : 'cached' })
    this.#boot(ordinal, row)
  }

  #boot(ordinal: number, row: RentalRow): void {
    const { profile, chance } = this.context
    const { hostedBoot, containerBoot } = profile.timings
    const duration = draw(row.kind === 'hosted' ? hostedBoot : containerBoot, chance, row.plan.key, BOOT, row.starts)
    row.next = this.context.schedule(duration, 'rental.booted', ordinal)
  }

  /** Releases the GPUs or the machine of a rental, or removes the rental from the queue for placement. */
  release(ordinal: number, row: RentalRow): void {
    this.context.cancel(row.next)
    row.next = 0
    if (!row.isPlaced) this.parts.placement.dequeue(toTenantId(ordinal))
    else if (row.node >= 0) {
      this.parts.nodes.release(row.node, row.gpus, toTenantId(ordinal))
      this.parts.history.onRentalReleased(row)
    }
    row.hasMachine = false
    row.node = -1
    row.gpus = 0
    row.heldSince = -1
    row.hasBooted = false
    this.updateMeter(row)
  }

  /** Starts or stops billing: from the end of the boot, or from placement if the profile says so, until the release. */
  updateMeter(row: RentalRow): void {
    const billsFromPlacement = this.context.profile.policies.billFrom === 'placed'
    const isBilled = row.isPlaced && (billsFromPlacement || row.hasBooted)
    if (isBilled && !row.isBilled) row.billedSince = this.context.clock.now
    row.isBilled = isBilled
    this.parts.ledger.setUnits(row.meter, isBilled ? 1 : 0)
  }
}
