import * as z from 'zod'
import { DEPLOYMENT_LIFECYCLE, type ModelTask } from '../../data/records/enums.ts'
import { isParked } from '../../simulation/deployments/deployment-row.ts'
import { findModelTarget } from '../../simulation/deployments/model-lookup.ts'
import type { World } from '../../simulation/world.ts'
import { AUDIO_SIZE_LIMIT } from '../audio/transcription-answers.ts'
import { neighbour } from '../endpoint.ts'
import { requireModelTask, runNative } from '../native/run.ts'
import { NATIVE_PROTOCOLS } from '../native/tasks.ts'
import { QueuedAnswer } from '../native/webhooks.ts'
import { INFERENCE_REFUSALS } from '../openai/request-lifecycle.ts'
import type { TaskSchemas } from '../openapi/task-schemas.ts'
import { refuse } from '../refusals.ts'

const {
  'text-generation': text,
  'text-to-image': image,
  'text-to-speech': speech,
  'automatic-speech-recognition': transcription,
  embeddings,
  reranker,
  custom,
} = NATIVE_PROTOCOLS

const InferenceBody = z.union([
  text.body,
  embeddings.body,
  reranker.body,
  image.body,
  speech.body,
  transcription.body,
  custom.body,
])
const AnyAnswer = z.union([
  text.returns,
  embeddings.returns,
  reranker.returns,
  image.returns,
  speech.returns,
  transcription.returns,
  custom.returns,
  QueuedAnswer,
])

const SCHEMAS = Object.fromEntries(
  Object.entries(NATIVE_PROTOCOLS).map(([task, { body, returns, needsTokenizer, ...events }]) => [
    task,
    {
      body,
      returns: z.union([returns, QueuedAnswer]),
      needsTokenizer,
      ...('streamEvent' in events && { streamEvent: events.streamEvent }),
    },
  ]),
) as Record<string, TaskSchemas> as Readonly<Record<ModelTask, TaskSchemas>>

const BY_TASK = {
  schemas: SCHEMAS,
  file: { part: 'audio', limit: AUDIO_SIZE_LIMIT },
}

const REFUSED_INPUT =
  'the prompt does not fit the context; dimensions is above the length of the model; queries and documents have different lengths; the audio cannot be read or is too long; or the address of the webhook is not allowed'

const ASSUMPTIONS = [
  'body and answer depend on the type of the model: the variant default of GET /models/{model_name}/schema/{variantKey} has them',
  'text-generation: the answers are those of POST /v1/completions; max_new_tokens defaults to 512',
  'text-generation with stream: server-sent events with a token each, then data: [DONE]; num_responses counts as 1',
  'embeddings: the vectors are those of POST /v1/embeddings; custom_instruction is read before each input',
  'reranker: one query for all documents, or a query for each document; a score grows with the words that both share',
  'text-to-image: the images are those of POST /v1/images/generations, as data URLs; a seed or a negative_prompt gives others',
  'text-to-image: width and height default to 1024; num_inference_steps changes time and price; guidance_scale is ignored',
  'text-to-speech: the audio is that of POST /v1/audio/speech, as a data URL; voice_id and preset_voice name a voice as voice does there',
  'automatic-speech-recognition: audio is a data URL, or the file of a multipart form, whose other fields are those of the JSON',
  'automatic-speech-recognition: the words are those of POST /v1/audio/transcriptions; words are null without chunk_level word',
  'custom: any JSON object is accepted, and output is drawn from the seed',
  'sampling fields, normalize, service_tier and user are validated and ignored',
  'webhook: the request is accepted as queued, stream is ignored, and the result is posted once it is complete',
  'webhook: a failed request has the status failed, and no result; an attempt without a 2xx is repeated',
  'inference_status: runtime_ms is the work of the instance, cost is in USD; on a deployment of the account it is 0',
]

export const createInference = neighbour({
  route: 'POST /v1/inference/{model_name}',
  summary: 'Run a model by its name',
  assumptions: [
    ...ASSUMPTIONS,
    'version selects a version of the model; an empty version is ignored',
    'the name of a deployment that starts for the first time, or starts again, is 423',
  ],
  refusals: {
    ...INFERENCE_REFUSALS,
    400: REFUSED_INPUT,
    404: 'unknown or deprecated model, unknown version or voice_id, or the name of a deployment that is stopped, failed, parked or deleted',
    413: AUDIO_SIZE_LIMIT.refusal,
    423: 'the deployment of this name is starting',
    503: 'a deployment stopped while the request waited, or the instance of the answer was lost',
  },
  acceptsKeyHeader: true,
  acceptsScopedTokens: true,
  query: { version: z.string().nullish() },
  body: InferenceBody,
  returns: AnyAnswer,
  streamEvent: text.streamEvent!,
  byTask: {
    ...BY_TASK,
    findTask: ({ world }, { model_name }) => requireModelTask(world, model_name!),
  },
  example: { target: '/v1/inference/aurora-labs/aurora-8b-instruct', body: { input: 'Once upon a time' } },
  handle: ({ params: { model_name }, query: { version }, body, ...scope }) => {
    refuseWhileStarting(scope.world, model_name)
    return runNative(scope, version ? `${model_name}:${version}` : model_name, body)
  },
})

export const createDeploymentInference = neighbour({
  route: 'POST /v1/inference/deploy/{deploy_id}',
  summary: 'Run the model of a deployment',
  assumptions: ASSUMPTIONS,
  refusals: {
    ...INFERENCE_REFUSALS,
    400: REFUSED_INPUT,
    404: 'unknown or deleted deployment, or unknown voice_id',
    413: AUDIO_SIZE_LIMIT.refusal,
    503: 'the deployment is not running, it stopped while the request waited, or the instance of the answer was lost',
  },
  acceptsKeyHeader: true,
  acceptsScopedTokens: true,
  body: InferenceBody,
  returns: AnyAnswer,
  streamEvent: text.streamEvent!,
  byTask: {
    ...BY_TASK,
    findTask: ({ world }, { deploy_id }) => requireModelTask(world, `deploy_id:${deploy_id}`),
  },
  example: { target: '/v1/inference/deploy/2cZeTxVFN7tKxCCh', body: { input: 'Once upon a time' } },
  handle: ({ params: { deploy_id }, body, ...scope }) => runNative(scope, `deploy_id:${deploy_id}`, body),
})

/** 423: a deployment answers by its name once it has been ready. */
function refuseWhileStarting(world: World, model_name: string): void {
  const target = findModelTarget(world, model_name)
  const deployment = target?.row === undefined ? undefined : world.deployments.findLive(target.name)
  if (deployment === undefined || isParked(deployment.row) || !DEPLOYMENT_LIFECYCLE.inProgress.has(deployment.status))
    return
  refuse(423, `model ${model_name} is ${deployment.status}, not running`)
}
