/** Every operation by its id, which is the name its declaration is exported under. */

import type { ApiScope } from './api-scope.ts'
import { type Operations, sortByPath } from './endpoint.ts'
import * as aggregator from './endpoints/aggregator.ts'
import * as tokens from './endpoints/api-tokens.ts'
import * as offers from './endpoints/availability.ts'
import * as batches from './endpoints/batches.ts'
import * as containers from './endpoints/containers.ts'
import * as messages from './endpoints/count-tokens.ts'
import * as deployments from './endpoints/deployments.ts'
import * as files from './endpoints/files.ts'
import * as gpuLimits from './endpoints/gpu-limits.ts'
import * as hardware from './endpoints/hardware.ts'
import * as hosted from './endpoints/hosted.ts'
import * as logs from './endpoints/logs.ts'
import * as loras from './endpoints/loras.ts'
import * as me from './endpoints/me.ts'
import * as models from './endpoints/models.ts'
import * as payments from './endpoints/payments.ts'
import * as stats from './endpoints/stats.ts'
import * as usage from './endpoints/usage.ts'
import * as voices from './endpoints/voices.ts'
import * as chat from './openai/chat.ts'
import * as completions from './openai/completions.ts'
import * as embeddings from './openai/embeddings.ts'
import * as servedModels from './openai/models.ts'

export const operations = sortByPath({
  ...tokens,
  ...payments,
  ...usage,
  ...gpuLimits,
  ...me,
  ...files,
  ...batches,
  ...deployments,
  ...stats,
  ...logs,
  ...offers,
  ...loras,
  ...models,
  ...hardware,
  ...aggregator,
  ...voices,
  ...messages,
  ...hosted,
  ...containers,
  ...chat,
  ...servedModels,
  ...completions,
  ...embeddings,
} satisfies Operations<ApiScope>)

/** The surface of the interface document alone, without its neighbours. */
export const documentedOperations: Operations<ApiScope> = Object.fromEntries(
  Object.entries(selectOperations(endpoint => endpoint.provenance !== 'neighbour')).map(([name, endpoint]) => [
    name,
    endpoint.mirror === undefined ? endpoint : { ...endpoint, mirror: undefined },
  ]),
)

/** What is not in the document, and a client needs to follow what the document starts. */
export const neighbourOperations: Operations<ApiScope> = selectOperations(
  endpoint => endpoint.provenance === 'neighbour',
)

function selectOperations(isSelected: (endpoint: Operations<ApiScope>[string]) => boolean): Operations<ApiScope> {
  return Object.fromEntries(
    Object.entries<Operations<ApiScope>[string]>(operations).filter(([, one]) => isSelected(one)),
  )
}
