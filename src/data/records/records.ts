/**
 * The records a fixture is made of: one zod schema a resource, the JSON files' only definition.
 *
 * Wire fields keep the names and types of the interface document, so a fixture reads like an answer of the API. What
 * only the simulation needs (sizes, placement, prices) is in further fields, which no response has.
 */
import * as z from 'zod'
import { isIpRange } from '../../lib/ip-ranges.ts'
import { OfferedLoad } from '../offered-load.ts'

/** The GPU types of the interface document (2.4). `other` is a word of the enum without a pool or a price. */
export const GPU_TYPES = [
  'L4-24GB',
  'L40S-48GB',
  'A100-80GB',
  'H100-80GB',
  'H200-141GB',
  'B200-180GB',
  'B300-270GB',
  'RTXPRO6000-96GB',
  'other',
] as const
export type GpuType = (typeof GPU_TYPES)[number]

/**
 * The GPUs that a word like `2xA100-80GB` names, 1 to 8 of a type; undefined for what is no such word.
 *
 * @example parseGpuConfig('2xA100-80GB') // { gpu: 'A100-80GB', num_gpus: 2 }
 */
export function parseGpuConfig(text: string): { readonly gpu: GpuType; readonly num_gpus: number } | undefined {
  const [, count, name] = /^([1-8])x(.+)$/.exec(text) ?? []
  const gpu = GPU_TYPES.find(type => type === name)
  return gpu === undefined ? undefined : { gpu, num_gpus: Number(count) }
}

/** The same word, of its parts. */
export function formatGpuConfig(gpu: GpuType, count: number): string {
  return `${count}x${gpu}`
}

/** What a model does: the words of the catalog's `type` and of a deployment's `task`. */
export const MODEL_TASKS = [
  'text-generation',
  'embeddings',
  'text-to-image',
  'text-to-speech',
  'automatic-speech-recognition',
  'reranker',
  'custom',
] as const
export type ModelTask = (typeof MODEL_TASKS)[number]

/** The schema variants of the interface document (4.6). */
export const VARIANT_KEYS = [
  'default',
  'compat-completions',
  'compat-chat-completions',
  'compat-embeddings',
  'compat-speech-to-text',
  'compat-tts',
  'compat-images',
  'compat-images-variations',
  'compat-images-edits',
  'altvendor-tts',
  'create-voice',
  'read-voice',
  'update-voice',
  'delete-voice',
  'list-voices',
  'ai-sdk',
] as const
export type VariantKey = (typeof VARIANT_KEYS)[number]

export const DEPLOYMENT_STATUSES = [
  'initializing',
  'downloading',
  'deploying',
  'running',
  'stopped',
  'failed',
  'deleted',
] as const
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number]

export const DEPLOYMENT_TYPES = ['legacy', 'llm', 'lora', 'tts'] as const
export type DeploymentType = (typeof DEPLOYMENT_TYPES)[number]

export const BATCH_STATUSES = [
  'validating',
  'failed',
  'in_progress',
  'finalizing',
  'completed',
  'expired',
  'cancelling',
  'cancelled',
] as const
export type BatchStatus = (typeof BATCH_STATUSES)[number]

export const HOSTED_STATES = ['creating', 'starting', 'running', 'stopping', 'stopped', 'failed', 'deleted'] as const
export type HostedState = (typeof HOSTED_STATES)[number]

export const CONTAINER_STATES = ['creating', 'starting', 'running', 'shutting_down', 'failed', 'deleted'] as const
export type ContainerState = (typeof CONTAINER_STATES)[number]

const unixSeconds = z.int()
const isoTime = z.iso.datetime({ offset: true })
const cents = z.int()
const gpu = z.enum(GPU_TYPES)
const realGpu = gpu.exclude(['other'])

export const Account = z.strictObject({
  uid: z.string().min(1),
  email: z.string().min(3),
  /** The owner prefix of every model the account deploys: `acme` in `acme/chat`. */
  display_name: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9_.-]*$/,
      'text of letters, digits, dots, dashes and underscores that begins with a letter or digit',
    ),
  /** Prepaid funds at the world's epoch, in cents. */
  funds_cents: cents,
  topup: z
    .strictObject({ amount: cents.min(0), threshold: cents.min(0), enabled: z.boolean() })
    .default({ amount: 0, threshold: 0, enabled: false }),
  /** Whether a charge goes through: `good` or `declined`. */
  card: z.enum(['good', 'declined']).default('good'),
  /** GPU limit by type; a type that is not named has the default of the profile; `null` means no limit. */
  gpu_limits: z.partialRecord(realGpu, z.int().min(0).nullable()).default({}),
})
export type Account = z.infer<typeof Account>

export const ApiToken = z.strictObject({
  token: z.string().regex(/^[A-Za-z0-9_-]+$/, 'text of letters, digits, dashes and underscores'),
  token_id: z.string().min(1),
  name: z.string().min(1),
  created_at: unixSeconds,
  /** Addresses and CIDR ranges, IPv4 or IPv6, that may use the token. An empty list allows every address. */
  allowed_ips: z
    .array(z.string().refine(isIpRange, "an address or a range like '203.0.113.7' or '203.0.113.0/24'"))
    .default([]),
})
export type ApiToken = z.infer<typeof ApiToken>

export const TimePricing = z.strictObject({
  type: z.literal('time'),
  cents_per_sec: z.number().min(0),
  short: z.string(),
  full: z.string(),
  table: z.strictObject({ columns: z.array(z.string()), rows: z.array(z.array(z.string())) }),
})

/** A public model of the catalog (2.9) and what the simulation knows of it. */
export const CatalogModel = z.strictObject({
  model_name: z.string().regex(/^[^/\s]+\/[^/\s]+$/, 'owner/name'),
  type: z.enum(MODEL_TASKS),
  reported_type: z.string(),
  description: z.string().default(''),
  cover_img_url: z.string().default(''),
  tags: z.array(z.string()).default([]),
  pricing: TimePricing,
  max_tokens: z.int().min(1).nullable().default(null),
  replaced_by: z.string().nullable().default(null),
  /** Unix seconds of the deprecation, or null while the model is current. */
  deprecated: unixSeconds.nullable().default(null),
  quantization: z.string().nullable().default(null),
  mmlu: z.number().nullable().default(null),
  expected: z.string().nullable().default(null),
  is_partner: z.boolean().default(false),
  /** Newest last; 64 hex characters each. */
  versions: z.array(z.string().regex(/^[0-9a-f]{64}$/, 'text of 64 small hexadecimal digits')).min(1),
  /** Billions of parameters: sizes downloads, memory and speed of a deployment on this base. */
  parameters_b: z.number().positive(),
})
export type CatalogModel = z.infer<typeof CatalogModel>

/** What a model runs on and costs (2.7). The price of dedicated hardware follows the GPU prices. */
export const ModelHardware = z.strictObject({
  model_name: z.string(),
  hardware: z
    .array(
      z.discriminatedUnion('type', [
        z.strictObject({
          type: z.literal('serverless'),
          id: z.string(),
          name: z.string(),
          pricing: z.strictObject({
            cents_per_million_input_tokens: z.number().min(0),
            cents_per_million_output_tokens: z.number().min(0),
          }),
        }),
        z.strictObject({
          type: z.literal('dedicated'),
          id: z.string(),
          name: z.string(),
          gpu: realGpu,
          num_gpus: z.int().min(1).max(8),
        }),
      ]),
    )
    .min(1),
})
export type ModelHardware = z.infer<typeof ModelHardware>

const json: z.ZodType<unknown> = z.json()
const jsonSchema = z.record(z.string(), json)

export const FieldDescription = z.strictObject({
  name: z.string(),
  ftype: z.string(),
  parent: z.string().optional(),
  description: z.string().optional(),
  allowed: z.array(json).optional(),
  default: json.optional(),
  examples: z.array(json).optional(),
  minimum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  maximum: z.number().optional(),
  exclusiveMaximum: z.number().optional(),
})

/** The input and output of one variant (2.11) for every model of a type. `{model_name}` in `url` is filled in. */
export const ModelSchema = z.strictObject({
  type: z.enum(MODEL_TASKS),
  variant: z.enum(VARIANT_KEYS),
  url: z.string().startsWith('/'),
  fields_in: z.array(FieldDescription),
  schema_in: jsonSchema.optional(),
  schema_out: jsonSchema.optional(),
  schema_stream: jsonSchema.optional(),
})
export type ModelSchema = z.infer<typeof ModelSchema>

/** An entry of the aggregator's list (2.10). Prices are decimal strings in USD per token. */
export const AggregatorModel = z.strictObject({
  id: z.string(),
  name: z.string(),
  created: unixSeconds,
  input_modalities: z.array(z.string()),
  output_modalities: z.array(z.string()),
  quantization: z.string(),
  context_length: z.int().min(1),
  max_output_length: z.int().min(1),
  pricing: z.strictObject({
    prompt: z.string().regex(/^\d+(\.\d+)?$/, "text that is a number, as in '0.0000002'"),
    completion: z.string().regex(/^\d+(\.\d+)?$/, "text that is a number, as in '0.0000002'"),
    input_cache_read: z
      .string()
      .regex(/^\d+(\.\d+)?$/, "text that is a number, as in '0.0000002'")
      .default('0'),
  }),
  supported_sampling_parameters: z.array(z.string()),
  supported_features: z.array(z.string()),
  datacenters: z.array(z.strictObject({ country_code: z.string().length(2) })),
  hub_id: z.string().default(''),
  description: z.string(),
  deprecation_date: z.string().default(''),
  aggregator: z.record(z.string(), z.string()).default({}),
})
export type AggregatorModel = z.infer<typeof AggregatorModel>

export const HubRepository = z.strictObject({
  repo: z.string().regex(/^[^/\s]+\/[^/\s]+$/, 'owner/name'),
  revision: z.string().default('main'),
  /** Size of the weights in bytes. */
  bytes: z.int().positive(),
  parameters_b: z.number().positive(),
  quantization: z.string().default('bf16'),
  /** Longest context in tokens. */
  context: z.int().min(1).default(8192),
  /** A gated repository opens only to a token; with `tokens`, only to one of these. */
  gated: z.boolean().default(false),
  tokens: z.array(z.string()).default([]),
})
export type HubRepository = z.infer<typeof HubRepository>

export const Hub = z.strictObject({
  /** What a repository that is not listed does: `estimate` gives it a size from its name, `refuse` answers 404. */
  policy: z.enum(['estimate', 'refuse']).default('estimate'),
  repositories: z.array(HubRepository),
})
export type Hub = z.infer<typeof Hub>

export const Voice = z.strictObject({
  user_id: z.string(),
  voice_id: z.string(),
  name: z.string(),
  description: z.string().default(''),
  created_at: unixSeconds,
  updated_at: unixSeconds,
})
export type Voice = z.infer<typeof Voice>

/** A pool of nodes in one zone. A group of equal nodes is named `<prefix>-0`, `<prefix>-1` and so on. */
export const NodePool = z.strictObject({
  name: z.string().min(1),
  zone: z.string().min(1),
  market: z.enum(['on-demand', 'spot']).default('on-demand'),
  nodes: z
    .array(
      z.strictObject({
        prefix: z.string().regex(/^[a-z0-9-]+$/, 'text of small letters, digits and dashes'),
        gpu: realGpu,
        gpus_per_node: z.int().min(1).max(16),
        /** Nodes at the world's epoch. */
        count: z.int().min(0),
        /** The group grows to `max` if instances wait, and shrinks to `min` if nodes are empty. Default of both: `count`. */
        max: z.int().min(0).optional(),
        min: z.int().min(0).optional(),
        /** GPUs of each node that other customers of the cloud hold for good. */
        occupied: z.int().min(0).default(0),
        /** Whether the provider's own serving image is on the node already; that of a deployment's `container_image` never is. */
        image_cached: z.boolean().default(false),
        /** Hub repositories whose weights are on the node already. */
        weights_cached: z.array(z.string()).default([]),
      }),
    )
    .min(1),
})
export type NodePool = z.infer<typeof NodePool>

export const Fleet = z.strictObject({ pools: z.array(NodePool) })
export type Fleet = z.infer<typeof Fleet>

/** A deployment at the world's epoch. The loader builds what makes its status true: instances, placement, next events. */
export const DeploymentSeed = z.strictObject({
  deploy_id: z
    .string()
    .regex(/^[A-Za-z0-9]{16}$/, 'text of 16 letters and digits')
    .optional(),
  model_name: z.string().min(1),
  version: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'text of 64 small hexadecimal digits')
    .optional(),
  type: z.enum(DEPLOYMENT_TYPES).default('llm'),
  task: z.enum(MODEL_TASKS).default('text-generation'),
  status: z.enum(DEPLOYMENT_STATUSES).default('running'),
  fail_reason: z.string().default(''),
  created_at: isoTime.optional(),
  updated_at: isoTime.optional(),
  gpu: realGpu.default('H100-80GB'),
  num_gpus: z.int().min(1).max(8).default(1),
  max_batch_size: z.int().min(1).max(256).default(96),
  weights: z
    .strictObject({ repo: z.string(), revision: z.string().default('main'), token: z.string().default('') })
    .optional(),
  base_model: z.string().optional(),
  container_image: z.string().optional(),
  extra_args: z.array(z.string()).optional(),
  settings: z
    .strictObject({ min_instances: z.int().min(0), max_instances: z.int().min(1) })
    .default({ min_instances: 1, max_instances: 1 }),
  /** Requests that are offered to it, as data: what the autoscaler sees while no client asks. */
  load: OfferedLoad.optional(),
  /** Adapters only. */
  source: z.strictObject({ type: z.literal('modelhub'), modelhub_url: z.string() }).optional(),
  private: z.boolean().default(true),
  description: z.string().default(''),
})
export type DeploymentSeed = z.infer<typeof DeploymentSeed>

export const FileSeed = z.strictObject({
  id: z.string().min(1),
  filename: z.string().min(1),
  purpose: z.enum(['batch', 'batch_output']).default('batch'),
  created_at: unixSeconds,
  expires_at: unixSeconds.optional(),
  /** Path of the content below the fixture's folder, or the content itself where the fixture is an object. */
  path: z.string().optional(),
  content: z.string().optional(),
})
export type FileSeed = z.infer<typeof FileSeed>

export const BatchSeed = z.strictObject({
  id: z.string().min(1),
  endpoint: z.enum(['/v1/chat/completions', '/v1/completions']).default('/v1/chat/completions'),
  input_file_id: z.string(),
  completion_window: z.literal('24h').default('24h'),
  status: z.enum(['validating', 'in_progress', 'completed']),
  created_at: unixSeconds,
  in_progress_at: unixSeconds.optional(),
  finalizing_at: unixSeconds.optional(),
  completed_at: unixSeconds.optional(),
  metadata: z.record(z.string(), z.string()).nullable().default(null),
})
export type BatchSeed = z.infer<typeof BatchSeed>

/** A rented instance (hosted): a machine of its own with storage that only grows. */
export const HostedSeed = z.strictObject({
  instance_id: z.string().min(1),
  name: z.string().min(1).max(64),
  /** One that is on its way goes on from there at the world's epoch. */
  state: z.enum(HOSTED_STATES).default('running'),
  fail_reason: z.string().default(''),
  gpu: realGpu,
  num_gpus: z.int().min(1).max(8).default(1),
  storage_gb: z.int().min(20).max(512),
  created_at: unixSeconds,
})
export type HostedSeed = z.infer<typeof HostedSeed>

/** A rented container: an image on GPUs of one node. */
export const ContainerSeed = z.strictObject({
  container_id: z.string().min(1),
  name: z.string().min(1).max(64),
  /** One that is on its way goes on from there at the world's epoch. */
  state: z.enum(CONTAINER_STATES).default('running'),
  fail_reason: z.string().default(''),
  gpu_config: z
    .string()
    .refine(
      word => (parseGpuConfig(word)?.gpu ?? 'other') !== 'other',
      "a number from 1 to 8 and a GPU type, as in '2xA100-80GB'",
    ),
  container_image: z.string().min(1),
  created_at: unixSeconds,
})
export type ContainerSeed = z.infer<typeof ContainerSeed>

/**
 * A fixture as data: every file of a fixture folder, checked. Each key is a file `<key>.json`; all but `account` may
 * be left out and are then empty.
 */
export const Fixture = z.strictObject({
  account: Account,
  api_tokens: z.array(ApiToken).default([]),
  models: z.array(CatalogModel).default([]),
  hardware: z.array(ModelHardware).default([]),
  schemas: z.array(ModelSchema).default([]),
  aggregator: z.array(AggregatorModel).default([]),
  hub: Hub.default({ policy: 'estimate', repositories: [] }),
  voices: z.array(Voice).default([]),
  nodes: Fleet.default({ pools: [] }),
  deployments: z.array(DeploymentSeed).default([]),
  files: z.array(FileSeed).default([]),
  batches: z.array(BatchSeed).default([]),
  hosted: z.array(HostedSeed).default([]),
  containers: z.array(ContainerSeed).default([]),
})
export type Fixture = z.infer<typeof Fixture>
/** A fixture as a user writes it: defaults may be left out. */
export type FixtureInput = z.input<typeof Fixture>
