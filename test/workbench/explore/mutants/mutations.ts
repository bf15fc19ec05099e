/**
 * The mutations of the client, one defect each: the invariant that has to find it, and a single fault at which it does. The
 * fault is an operation or a moment of the world and a class, or `base` for none.
 */
import type { RuleName } from '../../../../src/simulator/judge/rules/index.ts'

export const MUTATIONS = {
  noTimeout: { defect: 'gives no request a timeout', foundBy: 'settles', at: 'listDeployments hang' },
  retriesForever: {
    defect: 'repeats every failed request without a bound, refusals too',
    foundBy: 'settles',
    at: 'deleteFile status503Done',
  },
  noRetry: { defect: 'repeats no request', foundBy: 'noLeak', at: 'createLlmDeployment status503Done' },
  noLookUp: {
    defect: 'repeats a create without a look at what there is',
    foundBy: 'noLeak',
    at: 'createLlmDeployment status503Done',
  },
  takes409ForSuccess: {
    defect: 'takes a name conflict for success without a look',
    foundBy: 'noLeak',
    at: 'createLlmDeployment status503Done',
  },
  noBatchLookUp: {
    defect: 'repeats the create of a batch without a look',
    foundBy: 'noDouble',
    at: 'createBatch status503Done',
  },
  recreatesTheBatch: {
    defect: 'creates the batch again when a poll fails',
    foundBy: 'noDouble',
    at: 'getBatch status503',
  },
  scalesUpOn503: {
    defect: 'adds instances when the model is overloaded',
    foundBy: 'spendsAtMost',
    at: 'createChatCompletion status503',
  },
  joinsByPosition: { defect: 'joins rows by their position', foundBy: 'batchLines', at: 'base' },
  ignoresTheErrorFile: {
    defect: 'never reads the error file, and does not say how the batch ended',
    foundBy: 'noSilentLoss',
    at: 'batch.in_progress funds.set',
  },
  keepsRowsOfFailedDownloads: {
    defect: 'adds the rows of a repeated download to the former ones',
    foundBy: 'batchLines',
    at: 'getFileContent truncated',
  },
  trustsEmptyAnswers: {
    defect: 'takes an empty 200 for an answer',
    foundBy: 'noSilentLoss',
    at: 'createChatCompletion empty',
  },
  keepsTruncatedBodies: {
    defect: 'drops the lines after the place where a download broke',
    foundBy: 'noSilentLoss',
    at: 'getFileContent truncated',
  },
  ignoresRetryAfter: {
    defect: 'waits by its own back-off only',
    foundBy: 'honoursRetryAfter',
    at: 'listDeployments rateLimit',
  },
  pollsHot: { defect: 'polls five times a second', foundBy: 'pollsAtMost', at: 'base' },
  retriesAtOnce: {
    defect: 'repeats failed requests without a pause',
    foundBy: 'pollsAtMost',
    at: 'listDeployments status503 for 60s',
  },
  neverReadsFailed: {
    defect: 'waits for `running` alone, whatever happens',
    foundBy: 'readsEnd',
    at: 'deployment.running funds.set',
  },
  ignoresExpired: {
    defect: 'does not know the status `expired`',
    foundBy: 'readsEnd',
    at: 'batch.in_progress funds.set',
  },
  returnsWithoutTheEnd: {
    defect: 'returns half an hour later, without a look at its batch',
    foundBy: 'readsEnd',
    at: 'base',
  },
  noCleanup: {
    defect: 'deletes nothing when it fails',
    foundBy: 'cleansUpOnThrow',
    at: 'batch.in_progress batch.cancel',
  },
  noCleanupAfterTimeout: {
    defect: 'deletes nothing when time is up',
    foundBy: 'cleansUpOnThrow',
    at: 'instance.warming node.crash',
  },
  leavesTheBatch: {
    defect: 'gives up its batch after a minute without cancelling it',
    foundBy: 'cleansUpOnThrow',
    at: 'base',
  },
  takes404ForFailure: {
    defect: 'takes a 404 of a repeated delete for a failure',
    foundBy: 'cleansUpOnThrow',
    at: 'deleteFile status503Done',
  },
  noRestartLookUp: {
    defect: 'starts from the beginning after a crash',
    foundBy: 'idempotentRestart',
    at: 'createBatch crash',
  },
  looksInTheFirstPage: {
    defect: 'looks for its file in the first page alone',
    foundBy: 'idempotentRestart',
    at: 'createBatch crash',
  },
  logsTheToken: { defect: 'prints its token', foundBy: 'noSecretsLogged', at: 'base' },
  logsHeaders: {
    defect: 'prints headers when a request fails',
    foundBy: 'noSecretsLogged',
    at: 'listDeployments status503',
  },
  attachesItsOptions: {
    defect: 'throws errors that have its options, token included',
    foundBy: 'noSecretsLogged',
    at: 'deployment.running funds.set',
  },
} as const satisfies Readonly<
  Record<string, { readonly defect: string; readonly foundBy: RuleName; readonly at: string }>
>

export type Mutation = keyof typeof MUTATIONS

/** Tells whether the client has a mutation. */
export type Has = (mutation: Mutation) => boolean
