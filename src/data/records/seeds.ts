/** The records of resources at the world's epoch: deployments, files, batches and containers. */
import * as z from 'zod'
import { OfferedLoad } from '../offered-load.ts'
import { modelVersion, ownedName } from './catalog.ts'
import { CONTAINER_STATES, DEPLOYMENT_STATUSES, DEPLOYMENT_TYPES, MODEL_TASKS } from './enums.ts'
import { filledText, isoTime, unixSeconds, withExample } from './examples.ts'
import { parseGpuConfig, realGpu } from './gpu-config.ts'

/**
 * A deployment at the world's epoch. The loader builds the state behind its status: instances, placement, next events.
 */
export const DeploymentSeed = z.strictObject({
  deploy_id: withExample(
    z.string().regex(/^[A-Za-z0-9]{16}$/, 'text of 16 letters and digits'),
    'Chat000000000001',
  ).optional(),
  model_name: filledText('acme/chat'),
  version: modelVersion.optional(),
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
    .strictObject({
      repo: withExample(ownedName, 'acme/chat-8b'),
      revision: z.string().default('main'),
      token: z.string().default(''),
    })
    .optional(),
  base_model: z.string().optional(),
  container_image: z.string().optional(),
  extra_args: z.array(z.string()).optional(),
  settings: z
    .strictObject({ min_instances: z.int().min(0), max_instances: z.int().min(0) })
    .default({ min_instances: 1, max_instances: 1 }),
  /** Requests that are offered to it, as data. The autoscaler sees them without any client. */
  load: OfferedLoad.optional(),
  /** Adapters only. */
  source: z
    .strictObject({
      type: z.literal('modelhub'),
      modelhub_url: withExample(z.string(), 'https://hub.example/acme/adapter'),
    })
    .optional(),
  private: z.boolean().default(true),
  description: z.string().default(''),
})
export type DeploymentSeed = z.infer<typeof DeploymentSeed>

export const FileSeed = z.strictObject({
  id: filledText('file_1'),
  filename: filledText('input.jsonl'),
  purpose: z.enum(['batch', 'batch_output']).default('batch'),
  created_at: unixSeconds,
  expires_at: unixSeconds.optional(),
  /** Path of the content below the fixture's folder. A fixture that is an object has `content` instead. */
  path: withExample(z.string(), 'files/input.jsonl').optional(),
  content: z.string().optional(),
})
export type FileSeed = z.infer<typeof FileSeed>

export const BatchSeed = z.strictObject({
  id: filledText('batch_1'),
  endpoint: z.enum(['/v1/chat/completions', '/v1/completions', '/v1/embeddings']).default('/v1/chat/completions'),
  input_file_id: withExample(z.string(), 'file_1'),
  completion_window: z.literal('24h').default('24h'),
  status: z.enum(['validating', 'in_progress', 'completed']),
  created_at: unixSeconds,
  in_progress_at: unixSeconds.optional(),
  finalizing_at: unixSeconds.optional(),
  completed_at: unixSeconds.optional(),
  output_file_id: z.string().min(1).optional(),
  error_file_id: z.string().min(1).optional(),
  metadata: z.record(z.string(), z.string()).nullable().default(null),
})
export type BatchSeed = z.infer<typeof BatchSeed>

/** A rented container: an image on GPUs of one node. */
export const ContainerSeed = z.strictObject({
  container_id: filledText('cont_1'),
  name: withExample(z.string().min(1).max(64), 'train'),
  /** A state of transition goes on from there at the world's epoch. */
  state: z.enum(CONTAINER_STATES).default('running'),
  fail_reason: z.string().default(''),
  gpu_config: withExample(
    z
      .string()
      .refine(
        word => (parseGpuConfig(word)?.gpu ?? 'other') !== 'other',
        "a number from 1 to 8 and a GPU type, as in '2xA100-80GB'",
      ),
    '2xA100-80GB',
  ),
  container_image: filledText('acme/train:1'),
  created_at: unixSeconds,
})
export type ContainerSeed = z.infer<typeof ContainerSeed>
