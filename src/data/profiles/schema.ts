/** What a provider profile holds: every figure by section, with its kind and its meaning. The one definition of both. */
import {
  amount,
  amountAboveZero,
  bytes,
  count,
  countFromOne,
  countOrNull,
  duration,
  durations,
  errorCounts,
  factor,
  factorDistribution,
  oneOf,
  period,
  portion,
  portionAboveZero,
  rate,
  rateDistribution,
  type SettingKind,
  shares,
  timeDistribution,
  warmUp,
  word,
  yesOrNo,
} from './figures.ts'

/** One figure of a profile: a leaf of its file. */
export class ProfileSetting<In, Out> {
  readonly kind: SettingKind<In, Out>
  /** What it says, for editors and the docs. */
  readonly meaning: string
  /** What stands where no profile names it; without one a profile that extends none must. */
  readonly defaultValue: NoInfer<In> | undefined

  constructor(kind: SettingKind<In, Out>, meaning: string, fallback?: NoInfer<In>) {
    this.kind = kind
    this.meaning = meaning
    this.defaultValue = fallback
  }
}

/** Sections of one shape under names that the profile makes up. */
export class NamedSections<Shape extends ProfileSection> {
  readonly shape: Shape
  constructor(shape: Shape) {
    this.shape = shape
  }
}

export interface ProfileSection {
  // biome-ignore lint/suspicious/noExplicitAny: a kind is read and written, so no type stands for all of them
  readonly [key: string]: ProfileSetting<any, any> | NamedSections<ProfileSection> | ProfileSection
}

/** What `camel` makes of a name. */
type CamelCase<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<CamelCase<Rest>>}` : Name

/** A figure as a file writes it: plain, or with the place it was taken from. */
export type SourcedValue<In> = In | { value: In; source: string }

export type SectionInput<Part> =
  Part extends ProfileSetting<infer In, unknown>
    ? SourcedValue<In>
    : Part extends NamedSections<infer Shape>
      ? { [name: string]: SectionInput<Shape> }
      : { -readonly [Key in keyof Part]?: SectionInput<Part[Key]> }

export type SectionOutput<Part> =
  Part extends ProfileSetting<unknown, infer Out>
    ? Out
    : Part extends NamedSections<infer Shape>
      ? { readonly [name: string]: SectionOutput<Shape> }
      : { readonly [Key in keyof Part as CamelCase<Key>]: SectionOutput<Part[Key]> }

function setting<In, Out>(
  kind: SettingKind<In, Out>,
  meaning: string,
  fallback?: NoInfer<In>,
): ProfileSetting<In, Out> {
  return new ProfileSetting(kind, meaning, fallback)
}

const timings = {
  placement_delay: setting(duration, 'From create or start to the first placement.'),
  container_start: setting(duration, 'From a placement to the start of the first pull: the container is created.'),
  image_pull: setting(timeDistribution, 'Pull of the serving image on a node that lacks it.'),
  hub_refusal: setting(duration, 'How long the hub takes to refuse a repository.'),
  hub_timeout: setting(period, 'A pull from a hub or registry that does not answer is given up after this long.'),
  download_rate: setting(rateDistribution, 'Rate of one download of weights from the hub.'),
  load_rate: setting(rate, 'Disk to GPU: bytes/s.'),
  load_fixed: setting(duration, 'Disk to GPU: the part that does not depend on the size.'),
  warm_up: setting(
    warmUp,
    'Engine initialisation: lognormal around median + per_gigabyte × the size of the weights in GB.',
  ),
  ready_within: setting(period, 'An instance must be ready within this of loading, or it counts as lost.'),
  retry_after: setting(
    durations,
    'Waits before a lost start is tried again; after the last of them the deployment fails.',
  ),
  crash_after: setting(duration, 'An engine that can not run (unknown arguments) exits this long after loading began.'),
  crash_loop_back_off: setting(
    durations,
    'Waits before an engine that crashed is started again; after the last of them the deployment fails unless another instance is ready.',
  ),
  crash_loop_forgotten: setting(
    period,
    'A crash of an instance that was ready counts towards the loop only when it comes within this of being ready; else the waits begin anew.',
  ),
  drain: setting(duration, 'How long a ready instance goes on serving after it was told to leave.'),
  drain_deadline: setting(duration, 'What still runs this long after a drain of its node began is cut off.'),

  autoscaler_evaluation: setting(period, 'Time between two decisions of the autoscaler.'),
  scale_up_delay: setting(duration, 'Load must have asked for more instances this long before they are started.'),
  scale_down_delay: setting(duration, 'Load must have needed fewer instances this long before one is drained.'),
  concurrency_target: setting(portionAboveZero, 'Share of max_batch_size at which the autoscaler holds each instance.'),
  idle_to_zero: setting(
    period,
    'A deployment with min_instances 0 gives up its last instance after this long without a request.',
  ),

  node_provisioning: setting(timeDistribution, 'From the need of a new node to its GPUs being usable.'),
  empty_node_kept: setting(period, "A node above its pool's minimum is given back after standing empty this long."),
  node_repair_shares: setting(
    shares('node_repair_shares', ['reset', 'automatic', 'manual']),
    'What brings a node or GPU back after a fault.',
  ),
  node_repair_reset: setting(timeDistribution, 'A reset: how long the node or GPU is away.'),
  node_repair_automatic: setting(timeDistribution, 'An automatic repair: how long the node is away.'),
  node_repair_manual: setting(timeDistribution, 'A repair by hand: how long the node is away.'),
  spot_notice: setting(duration, 'From the notice of a preemption to the loss of the spot node.'),
  node_bandwidth: setting(rate, 'Download bandwidth of a node, shared evenly by the downloads on it.'),
  image_bytes: setting(bytes, 'Size of a serving image in the image cache of a node.'),
  image_cache_bytes: setting(bytes, 'Image cache of a node; the least recently used image leaves first.'),
  weight_cache_bytes: setting(bytes, 'Weight cache of a node; the least recently used weights leave first.'),

  adapter_download: setting(timeDistribution, 'LoRA adapter: its download.'),
  adapter_load: setting(duration, 'LoRA adapter: its load into a slot of an instance.'),
  adapter_slots: setting(
    countFromOne,
    'LoRA adapters that an instance holds at once; the least recently used one leaves.',
  ),

  token_jitter: setting(
    portion,
    'Sigma of the time between two tokens of a stream, as a share of it. Read by inference alone; load and batches go by means.',
  ),

  batch_validation: setting(duration, 'Batch validation: the fixed part.'),
  batch_validation_per_line: setting(duration, 'Batch validation: the part of each line.'),
  batch_shared_tokens_per_second: setting(
    amountAboveZero,
    "Tokens/s, of prompts and answers, that a catalog model's shared capacity gives one batch.",
  ),
  batch_finalizing: setting(duration, 'Finalizing a batch: the fixed part.'),
  batch_finalizing_rate: setting(rate, 'Finalizing a batch: bytes/s of its output.'),
  batch_window: setting(period, 'From the creation of a batch to its expires_at.'),
  file_life: setting(period, 'From the creation of a file to its expires_at.'),
  rental_capacity_wait: setting(
    period,
    'How long a hosted instance or container waits for GPUs: then a new one fails, and one that was stopped is so again.',
  ),
  hosted_boot: setting(
    timeDistribution,
    'From its GPUs to a hosted instance that runs: the machine boots from its storage.',
  ),
  container_boot: setting(
    timeDistribution,
    'From its image on the node to a container that runs, its user data included.',
  ),
  rental_shutdown: setting(
    duration,
    'How long a hosted instance or container that runs takes to shut down before its GPUs are given back.',
  ),
  storage_expansion: setting(duration, 'From the request for more storage of a hosted instance to its growth.'),
  topup_delay: setting(
    duration,
    'From the crossing of the threshold to the charge of the card, which decides whether the funds come.',
  ),
  topup_retry: setting(period, 'A declined top-up is tried again after this long, and again, without the delay.'),
}

function priceSetting(gpu: string) {
  return setting(amount, `Price of one ${gpu} for an hour, in cents.`)
}

const prices = {
  cents_per_hour: {
    'L4-24GB': priceSetting('L4-24GB'),
    'L40S-48GB': priceSetting('L40S-48GB'),
    'A100-80GB': priceSetting('A100-80GB'),
    'H100-80GB': priceSetting('H100-80GB'),
    'H200-141GB': priceSetting('H200-141GB'),
    'B200-180GB': priceSetting('B200-180GB'),
    'B300-270GB': priceSetting('B300-270GB'),
    'RTXPRO6000-96GB': priceSetting('RTXPRO6000-96GB'),
  },
  batch_share: setting(portion, 'Batch tokens cost this share of live ones.'),
  adapter_factor: setting(amount, 'Tokens of an adapter on a catalog model cost this many times those of the model.'),
}

const limits = {
  default_gpu_limit: setting(
    countOrNull,
    'GPUs of a type that an account may hold where its fixture does not say; null is no limit.',
  ),
  batches_under_way: setting(countFromOne, 'Batches that an account may have under way; one more is refused.'),
  queue_per_deployment: setting(
    count,
    'Requests that may wait for a deployment, offered load included; one more is refused.',
  ),
  requests_in_flight: setting(
    countFromOne,
    'Inference calls in flight per model and token; one more is refused. Read by inference alone, load has no tokens.',
  ),
  storage_bytes: setting(
    bytes,
    'Bytes of files that an account may hold, unless --max-storage or maxStorageBytes says otherwise.',
  ),
}

const reviews = {
  limit_review: setting(duration, 'A GPU-limit request is decided after this long.'),
  limit_approved_up_to: setting(count, 'A GPU-limit request is approved up to this limit, and denied above.'),
  limit_policy: setting(
    oneOf('limit_policy', ['approve', 'deny', 'manual']),
    'How a GPU-limit request ends: approved as far as limit_approved_up_to says, always denied, or left pending for a verb.',
  ),
}

const policies = {
  idle_to_zero: setting(
    oneOf('idle_status', ['running', 'stopped']),
    'Status of a deployment with min_instances 0 that has idled to zero.',
  ),
  fold_downloading_into_deploying: setting(
    yesOrNo,
    'Whether the status downloading is shown as deploying, for clients that stop waiting when they see it.',
  ),
  failed_may_start: setting(yesOrNo, 'Whether a failed deployment can be started again; otherwise only deleted.'),
  unknown_engine_args: setting(
    oneOf('unknown_engine_args', ['crash', 'accept']),
    'What an engine does with extra_args that it does not know or can not read: it exits, or it runs. An image of its own takes any.',
  ),
  bill_from: setting(
    oneOf('bill_from', ['ready', 'placed']),
    'The state of an instance from which on its GPUs are billed, until it is gone.',
  ),
  hosted_host_lost: setting(
    oneOf('hosted_host_lost', ['failed', 'restarted']),
    'What becomes of a hosted instance whose machine is lost: it has failed, or it starts again on another with its storage. A container has failed either way.',
  ),
  balance_returns: setting(
    oneOf('balance_returns', ['manual', 'restart']),
    'What was stopped for lack of funds stays stopped until somebody starts it, or starts by itself when funds come.',
  ),
  suspension_grace: setting(
    duration,
    'What runs goes on this long after a suspension, by an empty balance or by hand.',
  ),
  overdraft_cents: setting(count, 'How far below zero the balance may fall before the account counts as out of funds.'),
  placement: setting(
    oneOf('placement', ['best-fit', 'spread']),
    'best-fit: the node with the fewest free GPUs that suffice; spread: the one with the most.',
  ),
}

/** What may happen how often, to the world and on the wire. Whatever a pack does not name does not happen. */
const packSettings = {
  node_faults_per_hour: setting(amount, 'Faults of a node, per node-hour; the mean over lemons and others.', 0),
  degradations_per_hour: setting(amount, 'GPUs that begin to run slow, per GPU-hour.', 0),
  disk_full_per_hour: setting(amount, 'Nodes whose disk fills up, per node-hour.', 0),
  spot_preemptions_per_hour: setting(amount, 'Preemptions of a spot node, per node-hour.', 0),
  zone_outages_per_hour: setting(amount, 'Outages of a whole zone, per zone-hour.', 0),
  stock_outs_per_hour: setting(amount, 'Stock-outs of a GPU type, per hour and type.', 0),
  hub_outages_per_hour: setting(amount, 'Outages of the hub, per hour.', 0),
  hub_throttles_per_hour: setting(amount, 'Times at which the hub slows down, per hour.', 0),
  registry_outages_per_hour: setting(amount, 'Outages of the image registry, per hour.', 0),
  autoscaler_freezes_per_hour: setting(amount, 'Times at which the autoscaler stops deciding, per hour.', 0),
  slow_provisioning_per_hour: setting(amount, 'Times at which new nodes begin to take longer, per hour.', 0),
  topup_declined: setting(portion, 'How likely a charge of a top-up is to be declined although the card is good.', 0),
  topup_delayed: setting(portion, 'How likely a top-up is to come later, by weather.topup_delay_lasts.', 0),
  batch_wait_shares: setting(
    shares('batch_wait_shares', ['none', 'short', 'long', 'day', 'forever']),
    'How long a batch on shared capacity waits before its lines run: not at all, by one of the batch_wait times, or until it expires.',
    { none: 1, short: 0, long: 0, day: 0, forever: 0 },
  ),
  wire_errors: setting(portion, 'Share of requests that are answered 503 and not carried out.', 0),
  wire_rate_limits: setting(portion, 'Share of requests that are answered 429, with weather.wire_retry_after.', 0),
  wire_lost_answers: setting(portion, 'Share of POST requests that are carried out and whose connection breaks.', 0),
  wire_slow_answers: setting(portion, 'Share of requests whose answer comes late, by weather.wire_slow_by.', 0),
}

const weather = {
  pack: setting(word, "The pack that blows from the start: 'none', or the name of one of the packs."),
  acceleration: setting(amountAboveZero, 'Every rate of the pack is multiplied by this.'),
  lemon_share: setting(portion, 'Share of the nodes that fail more often than the others.'),
  lemon_factor: setting(
    factor,
    'How many times as often a lemon fails; the mean over all nodes stays that of the pack.',
  ),
  fault_causes: setting(
    shares('fault_causes', ['gpu', 'software', 'network', 'maintenance', 'other']),
    'What a node fault is.',
  ),
  gpu_xids: setting(errorCounts, 'Error codes of faults whose cause is a GPU, by how often each is seen.'),
  software_xids: setting(errorCounts, 'Error codes of faults whose cause is software, by how often each is seen.'),
  degradation_factor: setting(factorDistribution, 'How many times slower a degraded GPU is.'),
  degradation_lasts: setting(timeDistribution, 'How long a GPU stays slow.'),
  disk_full_lasts: setting(timeDistribution, 'How long a disk stays full.'),
  spot_away: setting(timeDistribution, 'From a preemption to the return of spot capacity.'),
  zone_outage_lasts: setting(timeDistribution, 'How long a zone is away.'),
  stock_out_lasts: setting(timeDistribution, 'How long a GPU type is out of stock.'),
  hub_outage_lasts: setting(timeDistribution, 'How long the hub is away.'),
  hub_throttle_lasts: setting(timeDistribution, 'How long the hub stays slow.'),
  hub_throttle_factor: setting(factorDistribution, 'How many times slower a download from a slow hub is.'),
  registry_outage_lasts: setting(timeDistribution, 'How long the image registry is away.'),
  autoscaler_freeze_lasts: setting(timeDistribution, 'How long the autoscaler decides nothing.'),
  slow_provisioning_lasts: setting(timeDistribution, 'How long new nodes take longer.'),
  slow_provisioning_factor: setting(factorDistribution, 'How many times longer a new node takes then.'),
  topup_delay_lasts: setting(timeDistribution, 'How much later a delayed top-up comes.'),
  batch_wait_short: setting(timeDistribution, 'A short wait of a batch for capacity.'),
  batch_wait_long: setting(timeDistribution, 'A long wait of a batch for capacity.'),
  batch_wait_day: setting(timeDistribution, 'A wait of a batch for capacity that takes most of its window.'),
  wire_retry_after: setting(duration, 'What Retry-After says where a pack answers 429.', '30s'),
  wire_slow_by: setting(duration, 'How late a slow answer is at least; at most twice as much, evenly drawn.', '2s'),
  packs: new NamedSections(packSettings),
}

/** Every section of a profile. */
export const PROFILE_SECTIONS = { timings, prices, limits, reviews, policies, weather } satisfies ProfileSection

type Sections = SectionOutput<typeof PROFILE_SECTIONS>

/**
 * A provider profile, complete: times in microseconds, rates in bytes/s, sizes in bytes, prices in cents. Deeply frozen.
 * What each figure means stands beside it in `SECTIONS`.
 */
export interface Profile extends Sections {
  readonly name: string
  readonly description: string
  /**
   * Where each figure was taken from, by its place in the file (`timings.image_pull`). Figures that a profile changed
   * without giving a source are not in it.
   */
  readonly sources: Readonly<Record<string, string>>
}

/** Every time and rate of the simulation: microseconds and bytes/s. */
export type Timings = Profile['timings']
export type Prices = Profile['prices']
export type Limits = Profile['limits']
export type Reviews = Profile['reviews']
export type Policies = Profile['policies']
export type Weather = Profile['weather']
/** What may happen how often, under one name. */
export type WeatherPack = SectionOutput<typeof packSettings>

/** A profile as a user writes it: only what differs from the one it extends. */
export interface ProfileInput extends SectionInput<typeof PROFILE_SECTIONS> {
  /** Place of the JSON Schema, for editors; not read. */
  $schema?: string
  /** How the profile calls itself; a file's own name where it is left out. */
  name?: string
  /** The profile below this one, by name or path; `realistic` where it is left out, `null` for none. */
  extends?: string | null
  description?: string
}
