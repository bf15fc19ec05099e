/** The words that fields of records take, as the interface document lists them. */

/** The tasks of models: the catalog's `type` and a deployment's `task`. */
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
