/** Hosted instances and containers as the API sends them. */
import type { ContainerState, HostedState } from '../../data/records/enums.ts'
import { formatGpuConfig } from '../../data/records/gpu-config.ts'
import type { Clock } from '../../kernel/clock.ts'
import { type Chance, purpose } from '../../kernel/random.ts'
import type { Ledger } from '../account/ledger.ts'
import type { RentalRow } from './rental-row.ts'
import type { Rentals } from './rentals.ts'

const ADDRESS = purpose('rental.address')
/** The number of addresses in 198.18.0.0/15, a range for tests that no machine of the internet has. */
const ADDRESSES = 2 ** 17
const SSH_PORT = 22
const SSH_USER = 'ubuntu'

/** What a record is made of. */
interface RecordSources {
  readonly clock: Clock
  readonly chance: Chance
  readonly ledger: Ledger
  readonly rentals: Rentals
}

export function toContainerRecord(sources: RecordSources, ordinal: number) {
  const row = sources.rentals.read(ordinal)
  const { id, name, state, failReason, gpu, numGpus, plan } = row
  return {
    id,
    name,
    state: state as ContainerState,
    ...timesOf(sources, row),
    ip: addressOf(sources, row),
    gpu_config: formatGpuConfig(gpu, numGpus),
    price_per_hour: (sources.ledger.meters.priceCentsPerHour(gpu) * numGpus) / 100,
    container_image: plan.image,
    fail_reason: failReason === '' ? null : failReason,
  }
}

export function toHostedRecord(sources: RecordSources, ordinal: number) {
  const row = sources.rentals.read(ordinal)
  const { id, name, state, failReason, plan } = row
  const { planId, region, centsPerHour, agentType, version, lastBackup } = plan.machine!
  return {
    id,
    name,
    state: state as HostedState,
    ...timesOf(sources, row),
    price_per_hour: centsPerHour / 100,
    region,
    last_backup_ts: lastBackup,
    ssh_port: SSH_PORT,
    fail_reason: failReason === '' ? null : failReason,
    public_ip: addressOf(sources, row),
    version,
    agent_type: agentType,
    ssh_user: SSH_USER,
    plan_id: planId,
  }
}

/** Returns times in Unix seconds. A bill began at `start_ts`; a rental that never ran has its creation there. */
function timesOf({ clock }: RecordSources, { plan, billedSince, since, endedAt }: Readonly<RentalRow>) {
  return {
    start_ts: clock.unix(billedSince < 0 ? plan.createdAt : billedSince),
    state_ts: clock.unix(since),
    stop_ts: endedAt < 0 ? null : clock.unix(endedAt),
  }
}

/** Returns the address of a rental while it runs or shuts down, otherwise null. */
function addressOf({ chance }: RecordSources, { plan, hasBooted }: Readonly<RentalRow>): string | null {
  if (!hasBooted) return null
  const nth = chance.integer(ADDRESSES, plan.key, ADDRESS)
  return `198.${18 + (nth >> 16)}.${(nth >> 8) & 255}.${nth & 255}`
}
