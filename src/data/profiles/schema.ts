/** The settings of a provider profile by section, each with its kind and its meaning. */

import { GPU_TYPES, type GpuType } from '../records/gpu-config.ts'
import { type ProfileSection, type ProfileSetting, type SectionInput, type SectionOutput, setting } from './setting.ts'
import {
  acceptAs,
  amount,
  amountAboveZero,
  bytes,
  count,
  countFromOne,
  countOrNull,
  duration,
  durations,
  factor,
  oneOf,
  period,
  portion,
  portionAboveZero,
  rate,
  rateDistribution,
  shares,
  timeDistribution,
  warmUp,
  yesOrNo,
} from './setting-kinds.ts'
import { type packSettings, weather } from './weather-settings.ts'

/** Durations of media and custom models. All are for one H100 that does nothing else. */
const mediaTimings = {
  image_fixed: setting(duration, 'Time of one image that is independent of its size and of the model.'),
  image_step: setting(
    duration,
    'Further time of one image for each step, each 1,024 × 1,024 pixels and each billion parameters.',
  ),
  speech_fixed: setting(duration, 'Time of a request for speech that is independent of its length.'),
  speech_per_second: setting(duration, 'Further time for each second of speech and each billion parameters.'),
  transcription_fixed: setting(duration, 'Time of a transcription that is independent of its length.'),
  transcription_per_second: setting(
    duration,
    'Further time for each second of transcribed audio and each billion parameters.',
  ),
  custom_fixed: setting(duration, 'Time of a request to a custom model that is independent of its size.'),
  custom_per_billion: setting(duration, 'Further time of a request to a custom model for each billion parameters.'),
  webhook_attempts: setting(countFromOne, 'Attempts to deliver the result of a request to its webhook.'),
  webhook_back_off: setting(
    duration,
    'Time from a failed attempt to the next one. It doubles with each further attempt.',
  ),
  work_sharing: setting(
    portion,
    'Share of its time alone by which each other request on its instance delays a media request.',
  ),
}

const timings = {
  placement_delay: setting(timeDistribution, 'Time from create or start to the first placement.'),
  container_start: setting(
    timeDistribution,
    'Time from a placement to the first pull, in which the container is created.',
  ),
  image_pull: setting(timeDistribution, 'Duration of a pull of the serving image to a node that does not have it.'),
  hub_refusal: setting(duration, 'Time until the hub refuses a repository.'),
  hub_timeout: setting(period, 'Time after which a pull from a hub or registry that does not answer fails.'),
  download_rate: setting(rateDistribution, 'Rate of one download of weights from the hub.'),
  load_rate: setting(rate, 'Rate from disk to GPU.'),
  page_cache_rate: setting(
    rate,
    'Rate from the page cache of a node to one GPU. Several GPUs have 1.35 times as much.',
  ),
  page_cache_bytes: setting(
    bytes,
    'Weights that the page cache of a node holds: those last read. A reboot empties it.',
  ),
  load_fixed: setting(duration, 'Start of the process of an engine, before it reads the first byte.'),
  warm_up: setting(
    warmUp,
    'Initialisation of the engine: lognormal around median, and for each layer of the model trace, compile (cached: with a compile cache) and graphs.',
  ),
  slow_host_factor: setting(factor, 'Multiplier of load_fixed and warm_up on hosts of L4 and L40S.'),
  slow_host_cached_factor: setting(factor, 'The same if the engine compiles nothing.'),
  slow_compile_share: setting(portion, 'Share of the starts at which compilation takes ten times as long.'),
  ready_within: setting(period, 'Longest time from loading to ready. An instance that takes longer counts as lost.'),
  retry_after: setting(
    durations,
    'Waits before the retries of a lost start. After the last retry the deployment fails.',
  ),
  crash_after: setting(duration, 'Time from the start of loading to the exit of an engine with unknown arguments.'),
  crash_loop_back_off: setting(
    durations,
    'Waits before the restarts of a crashed engine. After the last restart the deployment fails if no other instance is ready.',
  ),
  crash_loop_forgotten: setting(
    period,
    'If an instance crashes longer than this after it became ready, the waits of crash_loop_back_off start over.',
  ),
  drain: setting(duration, 'Time for which a ready instance continues to serve after its drain starts.'),
  drain_deadline: setting(duration, 'Time after which the drain of a node cuts off the requests that still run.'),

  autoscaler_evaluation: setting(period, 'Time between two decisions of the autoscaler.'),
  scale_up_delay: setting(duration, 'Time for which load must need more instances before they start.'),
  scale_down_delay: setting(duration, 'Time for which load must need fewer instances before one is drained.'),
  concurrency_target: setting(portionAboveZero, 'Share of the places of an instance that the autoscaler aims at.'),
  idle_to_zero: setting(
    period,
    'Time without a request after which a deployment with min_instances 0 stops its last instance.',
  ),

  node_provisioning: setting(timeDistribution, 'Time from the request of a new node until its GPUs are usable.'),
  empty_node_kept: setting(period, 'Time after which an empty node above the minimum of its pool is removed.'),
  node_repair_shares: setting(
    shares(['reset', 'automatic', 'manual']),
    'Shares of the kinds of repair after a fault of a node or GPU.',
  ),
  node_repair_reset: setting(timeDistribution, 'Duration of a reset, in which the node or GPU is out of service.'),
  node_repair_automatic: setting(
    timeDistribution,
    'Duration of an automatic repair, in which the node is out of service.',
  ),
  node_repair_manual: setting(timeDistribution, 'Duration of a manual repair, in which the node is out of service.'),
  spot_notice: setting(duration, 'Time from the notice of a preemption to the loss of the spot node.'),
  node_bandwidth: setting(rate, 'Download bandwidth of a node. Its downloads share it evenly.'),
  image_bytes: setting(bytes, 'Size of a serving image in the image cache of a node.'),
  image_cache_bytes: setting(
    bytes,
    'Size of the image cache of a node. The least recently used image is evicted first.',
  ),
  weight_cache_bytes: setting(
    bytes,
    'Size of the weight cache of a node. The least recently used weights are evicted first.',
  ),

  adapter_download: setting(timeDistribution, 'Duration of the download of a LoRA adapter.'),
  adapter_load: setting(duration, 'Time to load a LoRA adapter into a slot of an instance.'),
  adapter_slots: setting(
    countFromOne,
    'LoRA adapters that an instance holds at once. The least recently used adapter is evicted first.',
  ),

  prefix_cache_share: setting(
    portion,
    'Share of the prompt tokens of offered load that engines have in their prefix cache, so that they need not read them. Single requests have the hits of their own prompts.',
  ),
  token_jitter: setting(
    portion,
    'Sigma of the time between two tokens of a stream, as a share of that time. Used by inference only; load and batches use means.',
  ),

  ...mediaTimings,

  batch_validation: setting(timeDistribution, 'Validation of a batch: the fixed part.'),
  batch_validation_per_line: setting(duration, 'Validation of a batch: the part of each line.'),
  batch_shared_tokens_per_second: setting(
    amountAboveZero,
    'Tokens/s that a batch gets from the shared capacity of an 8B catalog model, at the mean of the day. More batches and larger models lower it.',
  ),
  batch_shared_others: setting(
    amount,
    'Batches of other accounts that share the capacity of a catalog model. Each batch gets an equal share.',
  ),
  batch_shared_day_swing: setting(
    portion,
    'Change of the shared capacity over the day: by this share less at 16:00 UTC, and more at 04:00 UTC. 0: constant.',
  ),
  batch_shared_shortest: setting(
    duration,
    'Shortest time in which all lines of a batch run on shared capacity. 0s: as fast as the capacity allows.',
  ),
  batch_finalizing: setting(timeDistribution, 'Finalizing a batch: the fixed part.'),
  batch_finalizing_rate: setting(rate, 'Finalizing a batch: rate at which its output is written.'),
  batch_window: setting(period, 'Time from the creation of a batch to its expires_at.'),
  file_life: setting(period, 'Time from the creation of a file to its expires_at.'),
  rental_placement_delay: setting(
    timeDistribution,
    'Time from create or start of a hosted instance or container to the first search for a machine or GPUs.',
  ),
  rental_capacity_wait: setting(
    period,
    'Longest wait of a hosted instance for a machine, or of a container for GPUs. Then a new one fails, and a restarted one is stopped again.',
  ),
  hosted_boot: setting(
    timeDistribution,
    'From its machine to a hosted instance that runs: the machine boots from its storage.',
  ),
  container_boot: setting(
    timeDistribution,
    'Time from the image on the node to a running container, user data included.',
  ),
  rental_shutdown: setting(
    duration,
    'Time that a hosted instance or container takes to shut down before its machine or GPUs are free.',
  ),
  storage_expansion: setting(
    timeDistribution,
    'Time from the request for more storage of a hosted instance to its expansion.',
  ),
  topup_delay: setting(
    duration,
    'Time from the crossing of the threshold to the charge of the card. The charge decides whether the funds arrive.',
  ),
  topup_interval: setting(
    duration,
    'Shortest time between two top-ups. An account that spends faster runs out of funds and is suspended.',
  ),
  topup_retry: setting(period, 'Time between the retries of a declined top-up.'),
}

const prices = {
  cents_per_hour: Object.fromEntries(
    GPU_TYPES.filter(gpu => gpu !== 'other').map(gpu => [
      gpu,
      setting(amount, `Price of one ${gpu} per hour, in cents.`),
    ]),
  ) as Readonly<Record<Exclude<GpuType, 'other'>, ProfileSetting<number, number>>>,
  spot_share: setting(
    portion,
    'Cost of a GPU on a spot node as a share of the price on demand, in reports. Rent is the same on both.',
  ),
  batch_share: setting(portion, 'Price of batch tokens as a share of the price of live tokens.'),
  adapter_factor: setting(
    amount,
    'Price of tokens of an adapter on a catalog model, as a multiple of the price of the model.',
  ),
}

const limits = {
  default_gpu_limit: setting(
    countOrNull,
    'GPUs of a type that an account may hold if its fixture sets no limit. null: no limit.',
  ),
  batches_under_way: setting(countFromOne, 'Batches that an account may have in progress. A further batch is refused.'),
  containers_at_once: setting(
    countFromOne,
    'Containers that an account may have at the same time, failed and deleted ones aside. A further container is refused.',
  ),
  hosted_at_once: setting(
    countFromOne,
    'Hosted instances that an account may have at the same time, deleted ones aside. A further one is refused.',
  ),
  queue_per_deployment: setting(
    count,
    'Requests that may wait for a deployment, offered load included. A further request is refused.',
  ),
  requests_in_flight: setting(
    countFromOne,
    'Inference requests in flight per model and API token. A further request is refused. Offered load does not count: it has no API token.',
  ),
  tokens_per_minute: setting(
    countOrNull,
    'Tokens of inference requests that are accepted within a minute, per model and API token. A further request is refused. null: no limit.',
  ),
  storage_bytes: setting(
    bytes,
    'Size of the files that an account may hold. --max-storage and maxStorageBytes override it.',
  ),
}

const reviews = {
  limit_review: setting(
    timeDistribution,
    'Time until a request for a higher GPU limit or for higher rate limits is decided.',
  ),
  limit_approved_up_to: setting(count, 'Highest GPU limit that is approved. A request for more is denied.'),
  rate_limit_approved_up_to: setting(
    count,
    'Most requests in flight that a request for higher rate limits may ask for. A request for more is denied.',
  ),
  limit_policy: setting(
    oneOf(['approve', 'deny', 'manual']),
    'Decision about a request for higher limits. approve: up to limit_approved_up_to or rate_limit_approved_up_to; deny: never; manual: pending until a command decides.',
  ),
}

const policies = {
  idle_to_zero: setting(
    oneOf(['running', 'stopped']),
    'Status of a deployment with min_instances 0 after it scaled to zero.',
  ),
  fold_downloading_into_deploying: setting(
    yesOrNo,
    'Whether the status downloading is reported as deploying, for clients that do not know downloading.',
  ),
  failed_may_start: setting(
    yesOrNo,
    'Whether a failed deployment can be started again. If not, it can only be deleted.',
  ),
  unknown_engine_args: setting(
    oneOf(['crash', 'accept']),
    'Reaction of an engine to unknown or invalid extra_args. crash: it exits; accept: it runs. A custom image accepts all arguments.',
  ),
  compile_cache: setting(
    oneOf(['container', 'volume']),
    'Place of the compile cache of an engine. container: it is lost with each container; volume: it stays on the node.',
  ),
  bill_from: setting(
    oneOf(['ready', 'placed']),
    'State of an instance from which on its GPUs are billed, until it has ended.',
  ),
  hosted_host_lost: setting(
    oneOf(['failed', 'restarted']),
    'Effect of a lost machine on a hosted instance. failed: it fails; restarted: it starts again on another machine with its storage. A container fails in both cases.',
  ),
  balance_returns: setting(
    oneOf(['manual', 'restart']),
    'Restart after a stop for lack of funds. manual: by a request; restart: automatically as soon as funds arrive.',
  ),
  suspension_grace: setting(
    duration,
    'Time for which instances continue to run after a suspension, by an empty balance or by an operator.',
  ),
  invoice_closes: setting(
    oneOf(['monthly', 'daily']),
    'When an invoice closes, in UTC. Then account_balance takes over the use of the period, and recent begins at 0.',
  ),
  overdraft_cents: setting(count, 'Cents that the balance may fall below zero before the account is out of funds.'),
  unknown_repositories: setting(
    oneOf(['refuse', 'estimate']),
    'Repositories that the fixture does not list. refuse: they do not exist; estimate: they exist, and the name gives the size. Repositories of an owner in the fixture whose name has a size always exist. The policy of a hub in a fixture wins.',
  ),
  unknown_images: setting(
    oneOf(['refuse', 'accept']),
    'Container images that the fixture does not list. refuse: they do not exist, and what runs them fails; accept: every valid name exists.',
  ),
  unknown_gpu_types: setting(
    oneOf(['refuse', 'wait']),
    'Requests for GPUs that no node of the fleet can have. refuse: 400; wait: they are accepted and wait for capacity.',
  ),
  validation: setting(
    oneOf(['lax', 'strict']),
    'Texts in place of numbers and booleans in requests. lax: digits count as a number, "true" and "false" as a boolean; strict: only in queries.',
  ),
  batch_endpoints: setting(
    oneOf(['documented', 'with_embeddings']),
    'Endpoints of batches. documented: /v1/chat/completions and /v1/completions; with_embeddings: /v1/embeddings, too.',
  ),
  model_list_token: setting(
    oneOf(['optional', 'required']),
    'The API token of GET /v1/models. optional: the list needs none, and a wrong token is refused; required: 401 without one.',
  ),
  catalog_prices: setting(
    oneOf(['time', 'own']),
    'Prices in GET /models/deployment/list. time: by the second, for every model; own: by the own pricing type of each model, as in GET /models/list.',
  ),
  developer_role: setting(
    oneOf(['refuse', 'accept']),
    'The role developer in messages of a chat. refuse: 422; accept: it is read as system.',
  ),
  tools_without_tag: setting(
    oneOf(['refuse', 'accept']),
    'Tools in a request to a catalog model without the tag tools. refuse: 405; accept: they are called.',
  ),
  images_without_tag: setting(
    oneOf(['refuse', 'accept']),
    'Images in a request to a catalog model without the tag multimodal. refuse: 400; accept: they are ignored.',
  ),
  unknown_models: setting(
    acceptAs,
    'Models that neither the account nor the catalog has. refuse: 404; accept_as:NAME: a request to one is answered by the model NAME.',
  ),
  unknown_tokens: setting(
    oneOf(['refuse', 'accept']),
    'API tokens that the account does not have. refuse: 401; accept: each counts as the first token of the account.',
  ),
  placement: setting(
    oneOf(['best-fit', 'spread']),
    'best-fit: the node with the fewest free GPUs that suffice; spread: the node with the most free GPUs.',
  ),
}

const engine = {
  efficiency: setting(amountAboveZero, 'Factor on the shares of bandwidth and FLOP/s that an engine reaches.'),
  fixed_time: setting(
    amountAboveZero,
    'Factor on the times of a step and of its layers that do not depend on its work.',
  ),
  server_time: setting(amountAboveZero, 'Factor on the time of the server, the network and the tokenizer.'),
}

/** All sections of a profile. */
export const PROFILE_SECTIONS = { timings, engine, prices, limits, reviews, policies, weather } satisfies ProfileSection

type Sections = SectionOutput<typeof PROFILE_SECTIONS>

/**
 * A complete provider profile, deeply frozen. Times are in microseconds, rates in bytes/s, sizes in bytes, prices in
 * cents. `PROFILE_SECTIONS` has the meaning of each setting.
 */
export interface Profile extends Sections {
  readonly name: string
  readonly description: string
  /**
   * The source of each setting by its place in the file (`timings.image_pull`). A setting that a profile changed
   * without a source is left out.
   */
  readonly sources: Readonly<Record<string, string>>
}

/** The rates of random failures under one name. */
export type WeatherPack = SectionOutput<typeof packSettings>

/** A profile as a user writes it, with only the settings that differ from the profile that it extends. */
export interface ProfileInput extends SectionInput<typeof PROFILE_SECTIONS> {
  /** Location of the JSON Schema, for editors. Ignored. */
  $schema?: string
  /** Default: the name of the file. */
  name?: string
  /** The profile that this one extends, by name or path; `null`: no profile. Default: `realistic`. */
  extends?: string | null
  description?: string
}
