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
export const DEPLOYMENT_LIFECYCLE = new Lifecycle(
  {
    initializing: {
      phase: 'inProgress',
      next: ['downloading', 'deploying', 'running', 'stopped', 'failed', 'deleted'],
      entry: 'Its status moved back to, or starts again at, `initializing`',
      sentence: 'The deployment {id} moved to the status initializing.',
    },
    downloading: {
      phase: 'inProgress',
      next: ['initializing', 'deploying', 'running', 'stopped', 'failed', 'deleted'],
      entry: 'Its status is `downloading`',
      sentence: 'The deployment {id} began to download.',
    },
    deploying: {
      phase: 'inProgress',
      next: ['initializing', 'downloading', 'running', 'stopped', 'failed', 'deleted'],
      entry: 'Its status is `deploying`',
      sentence: 'The deployment {id} moved to the status deploying.',
    },
    running: {
      phase: 'settled',
      next: ['stopped', 'failed', 'deleted'],
      entry: 'Its status is `running`',
      sentence: 'The deployment {id} began to run.',
    },
    stopped: {
      phase: 'terminal',
      next: ['initializing', 'deleted'],
      entry: 'Its status is `stopped`',
      sentence: 'The deployment {id} stopped.',
    },
    failed: {
      phase: 'terminal',
      next: ['deleted'],
      entry: 'Its status is `failed`; `reason` is its `fail_reason`',
      sentence: 'The deployment {id} failed.',
    },
    deleted: {
      phase: 'terminal',
      next: [],
      entry: 'Its status is `deleted`',
      sentence: 'The deployment {id} was deleted.',
    },
  },
  { fields: 'reason' },
)
export const DEPLOYMENT_STATUSES = DEPLOYMENT_LIFECYCLE.statuses
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number]

export const DEPLOYMENT_TYPES = ['legacy', 'llm', 'lora', 'tts'] as const
export type DeploymentType = (typeof DEPLOYMENT_TYPES)[number]

/** The statuses of a batch. */
export const BATCH_LIFECYCLE = new Lifecycle(
  {
    validating: { phase: 'inProgress', next: ['failed', 'in_progress', 'cancelling', 'expired'] },
    failed: {
      phase: 'terminal',
      next: [],
      entry: 'It failed: the number of errors, and the code of the first',
      sentence: 'The batch {id} failed with {errors error}. The code of the first is {first}.',
      fields: 'errors first',
    },
    in_progress: {
      phase: 'inProgress',
      // A batch of a fixture is in progress before its lines are validated.
      next: ['finalizing', 'failed', 'cancelling', 'expired'],
      entry: 'Validation passed',
      sentence: 'The batch {id} passed its validation, and runs {lines line}.',
      fields: 'lines',
    },
    finalizing: {
      phase: 'inProgress',
      next: ['completed', 'cancelling'],
      entry: 'Writes its output',
      sentence: 'All lines of the batch {id} ended, and it writes its output.',
    },
    completed: { phase: 'terminal', next: [], entry: 'All lines ended', sentence: 'The batch {id} is complete.' },
    expired: {
      phase: 'terminal',
      next: [],
      entry: 'Its completion window ended',
      sentence: 'The batch {id} expired, because its completion window ended.',
    },
    cancelling: {
      phase: 'inProgress',
      next: ['cancelled', 'completed'],
      entry: 'A request cancels it',
      sentence: 'A request began to cancel the batch {id}.',
    },
    cancelled: { phase: 'terminal', next: [], entry: 'Cancelled', sentence: 'The batch {id} was cancelled.' },
  },
  { unrecorded: 'validating' },
)
export const BATCH_STATUSES = BATCH_LIFECYCLE.statuses
export type BatchStatus = (typeof BATCH_STATUSES)[number]

/** The states of a hosted instance. One that runs starts again if its provider moves it to another machine. */
export const HOSTED_LIFECYCLE = new Lifecycle(
  {
    creating: { phase: 'inProgress', next: ['starting', 'stopped', 'failed', 'deleted'] },
    starting: {
      phase: 'inProgress',
      next: ['running', 'stopped', 'failed', 'deleted'],
      entry: 'It boots',
      sentence: 'The hosted instance {id} began to boot.',
    },
    running: {
      phase: 'settled',
      next: ['starting', 'stopping', 'failed'],
      entry: 'It runs and is billed',
      sentence: 'The hosted instance {id} runs, and is billed.',
    },
    // It starts at once if funds have come back meanwhile and the provider restarts what lacked them.
    stopping: {
      phase: 'inProgress',
      next: ['stopped', 'deleted', 'starting'],
      entry: 'It shuts down',
      sentence: 'The hosted instance {id} began to shut down.',
    },
    stopped: {
      phase: 'terminal',
      next: ['starting', 'deleted'],
      entry: 'It is stopped',
      sentence: 'The hosted instance {id} stopped.',
    },
    failed: {
      phase: 'terminal',
      next: ['starting', 'deleted'],
      entry: 'It failed',
      sentence: 'The hosted instance {id} failed.',
    },
    deleted: { phase: 'terminal', next: [], entry: 'It is deleted', sentence: 'The hosted instance {id} was deleted.' },
  },
  { unrecorded: 'creating', fields: 'reason' },
)
export const HOSTED_STATES = HOSTED_LIFECYCLE.statuses
export type HostedState = (typeof HOSTED_STATES)[number]

/** The states of a container, which lives once. */
export const CONTAINER_LIFECYCLE = new Lifecycle(
  {
    creating: { phase: 'inProgress', next: ['starting', 'failed', 'deleted'] },
    starting: {
      phase: 'inProgress',
      next: ['running', 'failed', 'deleted'],
      entry: 'It pulls its image and boots',
      sentence: 'The container {id} began to pull its image and to boot.',
    },
    running: {
      phase: 'settled',
      next: ['shutting_down', 'failed'],
      entry: 'It runs and is billed',
      sentence: 'The container {id} runs, and is billed.',
    },
    shutting_down: {
      phase: 'inProgress',
      next: ['deleted'],
      entry: 'It shuts down',
      sentence: 'The container {id} began to shut down.',
    },
    failed: { phase: 'terminal', next: ['deleted'], entry: 'It failed', sentence: 'The container {id} failed.' },
    deleted: { phase: 'terminal', next: [], entry: 'It is deleted', sentence: 'The container {id} was deleted.' },
  },
  { unrecorded: 'creating', fields: 'reason' },
)
export const CONTAINER_STATES = CONTAINER_LIFECYCLE.statuses
export type ContainerState = (typeof CONTAINER_STATES)[number]
