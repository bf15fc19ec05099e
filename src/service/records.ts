/** The records that the service answers with, field by field as part 2 of the interface document has them. */

import * as z from 'zod'
import {
  BATCH_STATUSES,
  CONTAINER_STATES,
  DEPLOYMENT_STATUSES,
  DEPLOYMENT_TYPES,
  HOSTED_STATES,
  VARIANT_KEYS,
} from '../data/records/enums.ts'
import { GPU_TYPES } from '../data/records/gpu-config.ts'
import { PricingAnswer, TimePricingAnswer } from '../data/records/pricing.ts'
import { recordSchema, rowsOf } from './fields.ts'

/** The document shows a value or two of the field, and says that there may be others. */
const OPEN_ENUM = { 'x-open': true } as const

/** The path of an endpoint, as the world has it. */
const ENDPOINT_PATH = { 'x-holds': 'path' } as const
/** The endpoint of a batch, which is a declared value of the request that creates the batch. */
export const BATCH_ENDPOINT = { 'x-holds': 'endpoint' } as const

const unixSeconds = z.int()
const isoTime = z.iso.datetime({ offset: true })
const anyJson = z.unknown()
const jsonObject = z.record(z.string(), anyJson)

/** A success that says nothing. */
export const EmptyRecord = recordSchema('Empty', {})

export const ApiTokenRecord = recordSchema('ApiToken', {
  token: z.string(),
  created_at: unixSeconds,
  name: z.string(),
  token_id: z.string(),
  allowed_ips: z.array(z.string()),
})

export const RentUsage = recordSchema('RentUsage', {
  id_to_duration: z.record(z.string(), z.int()).describe('Seconds by id'),
})

export const FileRecord = recordSchema('File', {
  id: z.string(),
  object: z.literal('file'),
  bytes: z.int(),
  created_at: unixSeconds,
  filename: z.string(),
  purpose: z.string(),
  expires_at: unixSeconds,
})

/** A page of a list; the ids are those of its first and last entry, null when it has none. */
export function listSchema<Entry extends z.ZodType>(entry: Entry, id: string) {
  return recordSchema(id, {
    object: z.literal('list'),
    data: z.array(entry),
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  })
}

const optionalTime = unixSeconds.nullish()

export const BatchRecord = recordSchema('Batch', {
  id: z.string(),
  object: z.literal('batch'),
  endpoint: z.string().meta(BATCH_ENDPOINT),
  input_file_id: z.string(),
  completion_window: z.string(),
  status: z.enum(BATCH_STATUSES),
  created_at: unixSeconds,
  expires_at: unixSeconds,
  errors: z
    .object({
      object: z.literal('list'),
      data: rowsOf({
        code: z.string(),
        line: z.int().nullable(),
        message: z.string(),
        param: z.string().nullable(),
      }),
    })
    .nullish(),
  output_file_id: z.string().nullish(),
  error_file_id: z.string().nullish(),
  in_progress_at: optionalTime,
  completed_at: optionalTime,
  failed_at: optionalTime,
  finalizing_at: optionalTime,
  expired_at: optionalTime,
  cancelled_at: optionalTime,
  cancelling_at: optionalTime,
  request_counts: z.object({ total: z.int(), completed: z.int(), failed: z.int() }).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
})

export const DeploymentRecord = recordSchema('Deployment', {
  deploy_id: z.string(),
  model_name: z.string(),
  version: z.string(),
  task: z.string(),
  status: z.enum(DEPLOYMENT_STATUSES),
  fail_reason: z.string(),
  created_at: isoTime,
  updated_at: isoTime,
  type: z.enum(DEPLOYMENT_TYPES).default('legacy'),
  instances: z.object({ running: z.int(), pending: z.int() }).optional(),
  config: z
    .object({
      gpu: z.enum(GPU_TYPES),
      num_gpus: z.int(),
      max_batch_size: z.int(),
      weights: z.object({ repo: z.string(), revision: z.string(), token: z.string() }),
    })
    .partial()
    .optional(),
  settings: z.object({ min_instances: z.int(), max_instances: z.int() }).optional(),
})

export const LoraRecord = DeploymentRecord.extend({
  lora_name: z.string(),
  base_model: z.string(),
  source: z.object({ type: z.literal('modelhub').meta(OPEN_ENUM), modelhub_url: z.string() }),
  private: z.boolean(),
  description: z.string().default(''),
}).meta({ id: 'Lora' })

export const LoraStatus = DeploymentRecord.pick({
  deploy_id: true,
  status: true,
  fail_reason: true,
  updated_at: true,
  instances: true,
}).meta({ id: 'LoraStatus' })

export const DeployId = recordSchema('DeployId', { deploy_id: z.string() })

export const ModelTags = z.array(z.string().meta({ 'x-holds': 'tag' }))

export const ModelEntry = recordSchema('Model', {
  model_name: z.string(),
  type: z.string(),
  reported_type: z.string(),
  pricing: PricingAnswer,
  description: z.string().default(''),
  cover_img_url: z.string().default(''),
  tags: ModelTags.optional(),
  max_tokens: z.int().nullish(),
  replaced_by: z.string().nullish(),
  deprecated: unixSeconds.nullish(),
  quantization: z.string().nullish(),
  mmlu: z.number().nullish(),
  expected: z.string().nullish(),
  private: z.int().default(0),
  is_partner: z.boolean().default(false),
})

/** The catalog as deployments see it: every price is by time. */
export const DeploymentModelEntry = ModelEntry.extend({ pricing: TimePricingAnswer }).meta({ id: 'DeploymentModel' })

const FieldDescription = z.object({
  name: z.string(),
  ftype: z.string(),
  parent: z.string().optional(),
  description: z.string().optional(),
  allowed: z.array(anyJson).optional(),
  default: anyJson.optional(),
  examples: z.array(anyJson).optional(),
  minimum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  maximum: z.number().optional(),
  exclusiveMaximum: z.number().optional(),
})
export type FieldDescription = z.output<typeof FieldDescription>

const DocBlock = z.object({ key: z.string(), url: z.string() })

const SchemaVariant = z.object({ key: z.enum(VARIANT_KEYS), url: z.string().meta(ENDPOINT_PATH) })

export const ModelInfo = ModelEntry.omit({ cover_img_url: true, private: true })
  .extend({
    tags: ModelTags,
    version: z.string(),
    featured: z.boolean(),
    owner: z.boolean(),
    public: z.boolean(),
    schemas: z.array(SchemaVariant),
    max_output_tokens: z.int().nullable(),
    is_custom_deployable: z.boolean(),
    curl_inv: z.string(),
    cmdline_inv: z.string(),
    txt_docs: z.string(),
    out_example: z.string(),
    out_docs: z.string(),
    meta: jsonObject,
    in_schema: anyJson,
    out_schema: anyJson,
    in_fields: z.array(FieldDescription).nullable(),
    import_time: isoTime.nullable(),
    mask_token: z.string().nullable(),
    doc_blocks: z.array(DocBlock).nullable(),
    short_doc_block: DocBlock.nullable(),
    mf_name: z.string().nullable(),
    mf_title: z.string().nullable(),
    mf_description: z.string().nullable(),
  })
  .meta({ id: 'ModelInfo' })

export const ModelVersion = recordSchema('ModelVersion', {
  model_name: z.string(),
  version: z.string(),
  uploaded_at: isoTime,
  deploy_ids: z.array(z.string()),
})

export const ModelSchemaRecord = recordSchema('ModelSchema', {
  variant: SchemaVariant,
  fields_in: z.array(FieldDescription),
  schema_in: jsonObject.optional(),
  schema_out: jsonObject.optional(),
  schema_stream: jsonObject.optional(),
})

export const HardwareRecord = z
  .discriminatedUnion('type', [
    z.object({
      id: z.string(),
      name: z.string(),
      type: z.literal('serverless').meta(OPEN_ENUM),
      pricing: z.object({ cents_per_million_input_tokens: z.number(), cents_per_million_output_tokens: z.number() }),
    }),
    z.object({
      id: z.string(),
      name: z.string(),
      type: z.literal('dedicated').meta(OPEN_ENUM),
      pricing: z.object({ cents_per_minute: z.number() }),
    }),
  ])
  .meta({ id: 'Hardware' })

export const AggregatorEntry = recordSchema('AggregatorModel', {
  id: z.string(),
  name: z.string(),
  created: unixSeconds,
  input_modalities: z.array(z.string()),
  output_modalities: z.array(z.string()),
  quantization: z.string(),
  context_length: z.int(),
  max_output_length: z.int(),
  pricing: z.object({
    prompt: z.string(),
    completion: z.string(),
    input_cache_read: z.string().default('0'),
  }),
  supported_sampling_parameters: z.array(z.string()),
  supported_features: z.array(z.string()),
  datacenters: rowsOf({ country_code: z.string() }),
  hub_id: z.string().default(''),
  description: z.string(),
  deprecation_date: z.string(),
  aggregator: z.record(z.string(), z.string()),
})

export const HostedRecord = recordSchema('HostedInstance', {
  id: z.string(),
  name: z.string(),
  state: z.enum(HOSTED_STATES),
  start_ts: unixSeconds.describe('When its last start was complete; before, when it was created'),
  state_ts: unixSeconds.describe('When it entered its state'),
  stop_ts: unixSeconds.nullable().describe('When it stopped, failed or was deleted, and its bill ended'),
  price_per_hour: z.number().describe('In USD'),
  region: z.string(),
  last_backup_ts: unixSeconds.nullable(),
  ssh_port: z.int(),
  fail_reason: z.string().nullable().describe('Why it failed, or stopped without a request'),
  public_ip: z.string().nullable().describe('Its address while it runs and shuts down'),
  version: z.string().nullable(),
  agent_type: z.string(),
  ssh_user: z.string(),
  plan_id: z.string(),
})

export const ContainerRecord = recordSchema('Container', {
  id: z.string(),
  name: z.string(),
  state: z.enum(CONTAINER_STATES),
  start_ts: unixSeconds.describe('When it began to run; before, when it was created'),
  state_ts: unixSeconds.describe('When it entered its state'),
  stop_ts: unixSeconds.nullable().describe('When it failed or was deleted, and its bill ended'),
  ip: z.string().nullable().describe('Its address while it runs and shuts down'),
  gpu_config: z.string(),
  price_per_hour: z.number().describe('In USD, for all its GPUs'),
  container_image: z.string(),
  fail_reason: z.string().nullable().describe('Why it failed, or was shut down without a request'),
})

export const SshKeyRecord = recordSchema('SshKey', {
  id: z.string(),
  name: z.string().min(1),
  key: z.string().min(1).describe('Type, base64 and comment, as in the file that ends with .pub'),
  created_at: unixSeconds,
})

export const VoiceRecord = recordSchema('Voice', {
  user_id: z.string(),
  voice_id: z.string(),
  name: z.string(),
  description: z.string().default(''),
  created_at: unixSeconds,
  updated_at: unixSeconds,
})
