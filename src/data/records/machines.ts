/** The records of machines without GPUs that an account can rent: their plans, and hosted instances at the epoch. */
import * as z from 'zod'
import { HOSTED_STATES } from './enums.ts'
import { filledText, unixSeconds, withExample } from './examples.ts'

/** The storage of a machine, in GB. The interface document has the same upper bound. */
const storage = withExample(z.int().min(20).max(512), 80)

/** What a hosted instance consists of, where it can be, and what it costs while it runs. */
export const HostedPlan = z.strictObject({
  id: withExample(z.string().min(1).max(64), 'small'),
  vcpus: withExample(z.int().min(1), 2),
  memory_gb: withExample(z.number().positive(), 4),
  /** Storage of a new instance, in GB. */
  disk_gb: storage,
  cents_per_hour: withExample(z.number().min(0).max(1e6), 3),
  regions: withExample(z.array(z.string().min(1).max(64)).min(1), ['us-central']),
  /** Machines that each region has for instances of the account. Default: unlimited. */
  capacity: z.int().min(0).optional(),
})
export type HostedPlan = z.infer<typeof HostedPlan>

const REGIONS = ['us-central', 'eu-north']

/** The plans of a fixture without plans.json. Prices are those of general-purpose machines of large clouds, rounded. */
export const KNOWN_PLANS: readonly HostedPlan[] = [
  { id: 'small', vcpus: 2, memory_gb: 4, disk_gb: 20, cents_per_hour: 3, regions: REGIONS },
  { id: 'medium', vcpus: 4, memory_gb: 16, disk_gb: 80, cents_per_hour: 12, regions: REGIONS },
  { id: 'large', vcpus: 8, memory_gb: 32, disk_gb: 160, cents_per_hour: 24, regions: REGIONS },
  { id: 'xlarge', vcpus: 16, memory_gb: 64, disk_gb: 320, cents_per_hour: 48, regions: REGIONS },
]

/** A hosted instance: a rented machine of its own, with storage that only grows. */
export const HostedSeed = z.strictObject({
  instance_id: filledText('inst_1'),
  name: withExample(z.string().min(1).max(64), 'train'),
  /** A state of transition goes on from there at the world's epoch. */
  state: z.enum(HOSTED_STATES).default('running'),
  fail_reason: z.string().default(''),
  /** A plan of plans.json. */
  plan_id: filledText('small'),
  /** Default: the first region of the plan. */
  region: z.string().min(1).optional(),
  /** Default: the disk of the plan. */
  storage_gb: storage.optional(),
  agent_type: z.string().min(1).max(64).default('standard'),
  version: z.string().min(1).max(64).nullable().default(null),
  last_backup_ts: unixSeconds.nullable().default(null),
  created_at: unixSeconds,
})
export type HostedSeed = z.infer<typeof HostedSeed>
