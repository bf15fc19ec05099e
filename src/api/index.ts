/** Every operation by its id, which is the name its declaration is exported under. */
import * as aggregator from './aggregator.ts'
import * as batches from './batches.ts'
import * as chat from './chat.ts'
import * as completions from './completions.ts'
import * as containers from './containers.ts'
import * as deployments from './deployments.ts'
import * as embeddings from './embeddings.ts'
import { type ApiScope, type Operations, sortByPath } from './endpoint.ts'
import * as files from './files.ts'
import * as gpuLimits from './gpu-limits.ts'
import * as hardware from './hardware.ts'
import * as hosted from './hosted.ts'
import * as logs from './logs.ts'
import * as loras from './loras.ts'
import * as me from './me.ts'
import * as messages from './messages.ts'
import * as models from './models.ts'
import * as offers from './offers.ts'
import * as payments from './payments.ts'
import * as servedModels from './served-models.ts'
import * as stats from './stats.ts'
import * as tokens from './tokens.ts'
import * as usage from './usage.ts'
import * as voices from './voices.ts'

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
