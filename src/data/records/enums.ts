/** The words that fields of records take, as the interface document lists them, and the order of the statuses. */

import { Lifecycle } from './lifecycle.ts'

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

/** Tasks that the simulator has no answers for: such a model is served as `custom`. */
export const OTHER_TASKS = [
  'image-classification',
  'question-answering',
  'token-classification',
  'fill-mask',
  'zero-shot-image-classification',
  'text2text-generation',
  'text-classification',
  'object-detection',
  'dreambooth',
  'text-to-video',
  'rent-container',
] as const

/** The words of the model hub for tasks. */
export const HUB_TASKS = [...MODEL_TASKS, ...OTHER_TASKS] as const

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

/** The statuses of a deployment. One that failed may start again only if the profile allows it. */
export const DEPLOYMENT_LIFECYCLE = new Lifecycle({
  initializing: {
    phase: 'inProgress',
    next: ['downloading', 'deploying', 'running', 'stopped', 'failed', 'deleted'],
    entry: 'Its status moved back to, or starts again at, `initializing`',
    fields: 'reason',
  },
  downloading: {
    phase: 'inProgress',
    next: ['initializing', 'deploying', 'running', 'stopped', 'failed', 'deleted'],
    entry: 'Its status is `downloading`',
    fields: 'reason',
  },
  deploying: {
    phase: 'inProgress',
    next: ['initializing', 'downloading', 'running', 'stopped', 'failed', 'deleted'],
    entry: 'Its status is `deploying`',
    fields: 'reason',
  },
  running: {
    phase: 'settled',
    next: ['stopped', 'failed', 'deleted'],
    entry: 'Its status is `running`',
    fields: 'reason',
  },
  stopped: {
    phase: 'terminal',
    next: ['initializing', 'deleted'],
    entry: 'Its status is `stopped`',
    fields: 'reason',
  },
  failed: {
    phase: 'terminal',
    next: ['deleted'],
    entry: 'Its status is `failed`; `reason` is its `fail_reason`',
    fields: 'reason',
  },
  deleted: { phase: 'terminal', next: [], entry: 'Its status is `deleted`', fields: 'reason' },
})
export const DEPLOYMENT_STATUSES = DEPLOYMENT_LIFECYCLE.statuses
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number]

export const DEPLOYMENT_TYPES = ['legacy', 'llm', 'lora', 'tts'] as const
export type DeploymentType = (typeof DEPLOYMENT_TYPES)[number]

/** The statuses of a batch. */
export const BATCH_LIFECYCLE = new Lifecycle(
  {
    validating: {
      phase: 'inProgress',
      next: ['failed', 'in_progress', 'cancelling', 'expired'],
    },
    failed: {
      phase: 'terminal',
      next: [],
      entry: 'Validation failed: the number of errors, and the code of the first',
      fields: 'errors first',
    },
    in_progress: {
      phase: 'inProgress',
      // A batch of a fixture is in progress before its lines are validated.
      next: ['finalizing', 'failed', 'cancelling', 'expired'],
      entry: 'Validation passed',
      fields: 'lines',
    },
    finalizing: { phase: 'inProgress', next: ['completed', 'cancelling'], entry: 'Writes its output' },
    completed: { phase: 'terminal', next: [], entry: 'All lines ended' },
    expired: { phase: 'terminal', next: [], entry: 'Its completion window ended' },
    cancelling: { phase: 'inProgress', next: ['cancelled', 'completed'], entry: 'A request cancels it' },
    cancelled: { phase: 'terminal', next: [], entry: 'Cancelled' },
  },
  { unrecorded: 'validating' },
)
export const BATCH_STATUSES = BATCH_LIFECYCLE.statuses
export type BatchStatus = (typeof BATCH_STATUSES)[number]

/** The states of a hosted instance. One that runs starts again if its provider moves it to another machine. */
export const HOSTED_LIFECYCLE = new Lifecycle(
  {
    creating: {
      phase: 'inProgress',
      next: ['starting', 'stopped', 'failed', 'deleted'],
    },
    starting: {
      phase: 'inProgress',
      next: ['running', 'stopped', 'failed', 'deleted'],
      entry: 'It boots',
      fields: 'reason',
    },
    running: {
      phase: 'settled',
      next: ['starting', 'stopping', 'failed'],
      entry: 'It runs and is billed',
      fields: 'reason',
    },
    // It starts at once if funds have come back meanwhile and the provider restarts what lacked them.
    stopping: {
      phase: 'inProgress',
      next: ['stopped', 'deleted', 'starting'],
      entry: 'It shuts down',
      fields: 'reason',
    },
    stopped: { phase: 'terminal', next: ['starting', 'deleted'], entry: 'It is stopped', fields: 'reason' },
    failed: { phase: 'terminal', next: ['starting', 'deleted'], entry: 'It failed', fields: 'reason' },
    deleted: { phase: 'terminal', next: [], entry: 'It is deleted', fields: 'reason' },
  },
  { unrecorded: 'creating' },
)
export const HOSTED_STATES = HOSTED_LIFECYCLE.statuses
export type HostedState = (typeof HOSTED_STATES)[number]

/** The states of a container, which lives once. */
export const CONTAINER_LIFECYCLE = new Lifecycle(
  {
    creating: {
      phase: 'inProgress',
      next: ['starting', 'failed', 'deleted'],
    },
    starting: {
      phase: 'inProgress',
      next: ['running', 'failed', 'deleted'],
      entry: 'It pulls its image and boots',
      fields: 'reason',
    },
    running: { phase: 'settled', next: ['shutting_down', 'failed'], entry: 'It runs and is billed', fields: 'reason' },
    shutting_down: { phase: 'inProgress', next: ['deleted'], entry: 'It shuts down', fields: 'reason' },
    failed: { phase: 'terminal', next: ['deleted'], entry: 'It failed', fields: 'reason' },
    deleted: { phase: 'terminal', next: [], entry: 'It is deleted', fields: 'reason' },
  },
  { unrecorded: 'creating' },
)
export const CONTAINER_STATES = CONTAINER_LIFECYCLE.statuses
export type ContainerState = (typeof CONTAINER_STATES)[number]
