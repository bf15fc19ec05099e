/**
 * The records of the models that the cloud offers: the catalog, hardware, schemas, the aggregator's list and the hub.
 */

import * as z from 'zod'
import { hashCredential } from '../../lib/text/secrets.ts'
import { MODEL_TASKS, VARIANT_KEYS } from './enums.ts'
import { unixSeconds, withExample } from './examples.ts'
import { realGpu } from './gpu-config.ts'
import { ModelPricing } from './pricing.ts'

/** The name of a model or a repository. */
export const ownedName = z.string().regex(/^[^/\s]+\/[^/\s]+$/, 'owner/name')
export const modelVersion = withExample(
  z.string().regex(/^[0-9a-f]{64}$/, 'text of 64 small hexadecimal digits'),
  '0123456789abcdef'.repeat(4),
)
const modelName = withExample(ownedName, 'acme-labs/chat-8b')

/** A public model of the catalog (2.9), with fields for the simulation. */
export const CatalogModel = z.strictObject({
  model_name: modelName,
  type: z.enum(MODEL_TASKS),
  reported_type: z.string(),
  description: z.string().default(''),
  cover_img_url: z.string().default(''),
  tags: z.array(z.string()).default([]),
  /** The model's own price. `GET /models/deployment/list` shows the price of its hardware by time. */
  pricing: ModelPricing,
  max_tokens: z.int().min(1).nullable().default(null),
  replaced_by: z.string().nullable().default(null),
  /** Unix seconds of the deprecation, which can be in the future; null for a model without such a date. */
  deprecated: unixSeconds.nullable().default(null),
  quantization: z.string().nullable().default(null),
  mmlu: z.number().nullable().default(null),
  expected: z.string().nullable().default(null),
  is_partner: z.boolean().default(false),
  featured: z.boolean().default(false),
  /** The name of its family. Default: the first word of its name, as `chat` of `acme-labs/chat-8b`. */
  family: z.string().min(1).optional(),
  /** Unix seconds. Default: that of the aggregator's entry, else a time drawn from the name. */
  created: unixSeconds.optional(),
  /** Newest last; 64 hex characters each. */
  versions: z.array(modelVersion).min(1),
  /** Unix seconds of the upload of versions. Default: with the model, and a month apart. */
  version_times: z.record(z.string(), unixSeconds).default({}),
  /** Billions of parameters: sizes downloads, memory and speed of a deployment on this base. */
  parameters_b: withExample(z.number().positive(), 8),
})
export type CatalogModel = z.infer<typeof CatalogModel>

/** A model as a fixture writes it. The loader completes the omitted fields: see `completeCatalog`. */
export const CatalogModelSeed = CatalogModel.partial({ reported_type: true, pricing: true, versions: true })
export type CatalogModelSeed = z.infer<typeof CatalogModelSeed>

/** The hardware and prices of a model (2.7). The price of dedicated hardware follows the GPU prices. */
export const ModelHardware = z.strictObject({
  model_name: withExample(z.string(), 'acme-labs/chat-8b'),
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

const decimal = withExample(z.string().regex(/^\d+(\.\d+)?$/, "text that is a number, as in '0.0000002'"), '0.0000002')

/**
 * The endpoint of one variant (2.11) for every model of a type. `{model_name}` in `url` is filled in. The schemas follow
 * from the declaration of the endpoint.
 */
export const ModelSchema = z.strictObject({
  type: z.enum(MODEL_TASKS),
  variant: z.enum(VARIANT_KEYS),
  url: withExample(z.string().startsWith('/'), '/v1/inference/{model_name}'),
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
    prompt: decimal,
    completion: decimal,
    input_cache_read: decimal.default('0'),
  }),
  supported_sampling_parameters: z.array(z.string()),
  supported_features: z.array(z.string()),
  datacenters: z.array(z.strictObject({ country_code: withExample(z.string().length(2), 'US') })),
  hub_id: z.string().default(''),
  description: z.string(),
  deprecation_date: z.string().default(''),
  aggregator: z.record(z.string(), z.string()).default({}),
})
export type AggregatorModel = z.infer<typeof AggregatorModel>

const figure = z.int().positive().optional()

export const HubRepository = z
  .strictObject({
    repo: modelName,
    revision: z.string().default('main'),
    /** Size of the weights in bytes. */
    bytes: z.int().positive(),
    parameters_b: z.number().positive(),
    quantization: z.string().default('bf16'),
    /** Longest context in tokens. */
    context: z.int().min(1).default(8192),
    /** A gated repository requires a token. If `tokens` is not empty, it requires one of these. */
    gated: z.boolean().default(false),
    tokens: z.array(z.string().overwrite(hashCredential)).default([]),
    /** For a LoRA adapter: the repository or catalog model for which it was trained. */
    adapter_of: z.string().min(1).optional(),
    /** Figures of its `config.json`, which its speed follows from. Default: those of dense models of its size. */
    layers: figure,
    hidden: figure,
    /** Query heads × size of a head. Default: `hidden`. */
    attention_width: figure,
    /** Bytes of a token in the cache: 2 × layers × key-value heads × size of a head × bytes of a number. */
    kv_bytes_per_token: figure,
    /** A mixture of experts: experts, those that a token uses, and billions of parameters that a token uses. */
    experts: figure,
    experts_per_token: figure,
    active_parameters_b: z.number().positive().optional(),
  })
  .superRefine((repository, context) => {
    const { experts, experts_per_token = 0, active_parameters_b = 0, parameters_b } = repository
    const given = EXPERT_FIELDS.filter(field => repository[field] !== undefined)
    const missing = EXPERT_FIELDS.find(field => repository[field] === undefined)
    const report = (field: string, expected: string) =>
      context.addIssue({ code: 'custom', path: [field], message: expected })
    if (given.length > 0 && missing !== undefined) report(missing, `a number, because '${given[0]}' is given`)
    else if (experts === undefined) return
    else if (experts_per_token >= experts) report('experts_per_token', `fewer than experts, ${experts}`)
    else if (active_parameters_b <= (parameters_b * experts_per_token) / experts || active_parameters_b >= parameters_b)
      report('active_parameters_b', `between parameters_b × experts_per_token / experts and parameters_b`)
  })
const EXPERT_FIELDS = ['experts', 'experts_per_token', 'active_parameters_b'] as const
export type HubRepository = z.infer<typeof HubRepository>

/** The container images that exist if a fixture lists none. */
export const KNOWN_IMAGES = [
  'registry.example/*',
  'ubuntu:*',
  'debian:*',
  'python:*',
  'nvidia/cuda:*',
  'vllm/vllm-openai:*',
  'nvcr.io/nvidia/tensorrt-llm/*',
] as const

export const Hub = z.strictObject({
  /**
   * For a repository that is not listed: `estimate` gives it a size from its name, `refuse` answers 404. Default: the
   * policy `unknown_repositories` of the profile.
   */
  policy: z.enum(['estimate', 'refuse']).optional(),
  /** Container images that exist, such as `registry.example/serve:1`. A name that ends with `/*` has every image below it. */
  images: z.array(z.string().min(1)).default([...KNOWN_IMAGES]),
  repositories: z.array(HubRepository),
})
export type Hub = z.infer<typeof Hub>
