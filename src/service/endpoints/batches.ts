import * as z from 'zod'
import type { Batch, BatchRecord as SimulatedRecord } from '../../simulation/batches/batch-handle.ts'

import { BATCH_ENDPOINTS } from '../../simulation/batches/input-lines.ts'
import { requireFunds } from '../admission.ts'
import type { VendorNames } from '../api-scope.ts'
import { documented, neighbour } from '../endpoint.ts'
import { FILE_LIFE_SECONDS, integer, queryInteger, stringMap, text } from '../fields.ts'
import { paginate } from '../list-params.ts'
import { FUNDS_REFUSAL } from '../lookups.ts'
import { BatchRecord, listSchema } from '../records.ts'
import { refuse } from '../refusals.ts'

/** The endpoints of batches that the interface documents. */
const DOCUMENTED_ENDPOINTS = ['/v1/chat/completions', '/v1/completions'] as const

const BatchBody = z.object({
  input_file_id: text(),
  endpoint: z.enum(BATCH_ENDPOINTS),
  completion_window: z.enum(['24h']),
  metadata: stringMap({ max: 16, key: 64, value: 512 }).nullish(),
  output_expires_after: z.object({ anchor: z.enum(['created_at']), seconds: integer(FILE_LIFE_SECONDS) }).nullish(),
})
const DocumentedBody = BatchBody.extend({ endpoint: z.enum(DOCUMENTED_ENDPOINTS) }) as unknown as typeof BatchBody

export const createBatch = documented({
  route: 'POST /v1/batches',
  isMirrored: true,
  summary: 'Run the requests of an uploaded file',
  roles: ['create batch'],
  assumptions: [
    'metadata: optional, or null; up to 16 pairs of strings, keys up to 64 characters, values up to 512',
    'output_expires_after: seconds from the creation of the output and error files, 3,600 to 2,592,000; default 30 days',
    'timestamps are Unix seconds; expires_at is created_at + 86,400',
    'errors, request_counts and the file ids are null until they are known',
    'each line is validated and answered like a request to its endpoint; an invalid body fails the batch',
    'any other refusal fails only its line: its row in the error file has the status as code, and the message',
    'a line with stream fails alone with the code 500',
    'a line that is not UTF-8 fails the batch with invalid_json',
    'rows have another order than the input; custom_id identifies them',
    '/v1/embeddings as an endpoint is 422; with policies.batch_endpoints: with_embeddings of the profile it is accepted',
  ],
  refusals: {
    ...FUNDS_REFUSAL,
    404: 'unknown input_file_id',
    429: 'too many batches in progress (limits.batches_under_way of the profile, default 100)',
  },
  acceptsKeyHeader: true,
  errorShape: 'wrapped',
  body: DocumentedBody,
  bodyFor: ({ batchEndpoints }) => (batchEndpoints === 'documented' ? undefined : BatchBody),
  returns: BatchRecord,
  example: {
    body: {
      input_file_id: 'file_HSCZDQPBeSpnXB5vXxnzQcds',
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      metadata: { team: 'search' },
    },
  },
  handle: ({ body: { output_expires_after, ...body }, token, world, outputNames }) => {
    requireFunds(world)
    if (world.files.get(body.input_file_id) === undefined) refuse(404, 'file not found')
    const { batchesUnderWay } = world.profile.limits
    if (world.batches.active.length >= batchesUnderWay) {
      refuse(429, `${world.batches.active.length} batches are under way: wait for one to end`, { 'retry-after': '60' })
    }
    const spec = { ...body, metadata: body.metadata ?? null, token_id: token?.token_id }
    const output_life_seconds = output_expires_after?.seconds
    return toRecord(world.batches.create({ ...spec, output_life_seconds }), outputNames)
  },
})

export const getBatch = neighbour({
  route: 'GET /v1/batches/{batch_id}',
  isMirrored: true,
  summary: 'Get one batch',
  roles: ['read batch'],
  assumptions: ['output_file_id and error_file_id are both set after lines have run; a file without lines is empty'],
  refusals: { 404: 'unknown batch' },
  errorShape: 'wrapped',
  returns: BatchRecord,
  findPolledResource: ({ batch_id }) => ({ kind: 'batches', id: batch_id! }),
  example: { target: '/v1/batches/batch_iuGVRMdgEEaPgAmTJFZuY8YE' },
  handle: ({ params, world, outputNames }) => {
    const batch = world.batches.get(params.batch_id) ?? refuse(404, 'batch not found')
    return toRecord(batch, outputNames)
  },
})

export const listBatches = neighbour({
  route: 'GET /v1/batches',
  isMirrored: true,
  summary: 'List batches, a page at a time',
  roles: ['list batch'],
  assumptions: [
    'newest first',
    'limit: 1 to 100, default 20',
    'after: id of the last entry of the previous page',
    'first_id and last_id are null if data is empty',
  ],
  refusals: { 404: 'unknown id in after' },
  errorShape: 'wrapped',
  query: { after: z.string().optional(), limit: queryInteger({ min: 1, max: 100 }).default(20) },
  returns: listSchema(BatchRecord, 'BatchList'),
  findPolledResource: () => ({ kind: 'batches' }),
  example: { target: '/v1/batches?limit=10' },
  handle: ({ query, world, outputNames }) =>
    paginate(world.batches.list().reverse(), query, batch => toRecord(batch, outputNames)),
})

export const cancelBatch = neighbour({
  route: 'POST /v1/batches/{batch_id}/cancel',
  isMirrored: true,
  summary: 'Cancel a batch; finished lines stay in its output file',
  assumptions: [
    'the status is cancelling, then cancelled',
    'a second request changes nothing',
    'a batch near its end still ends as completed, with cancelling_at',
  ],
  roles: ['stop batch'],
  refusals: { 404: 'unknown batch', 400: 'the batch is completed, failed, expired or cancelled' },
  errorShape: 'wrapped',
  returns: BatchRecord,
  example: { target: '/v1/batches/batch_iuGVRMdgEEaPgAmTJFZuY8YE/cancel' },
  handle: ({ params: { batch_id }, world, outputNames }) => {
    const batch = world.batches.get(batch_id) ?? refuse(404, 'batch not found')
    if (!batch.cancel()) refuse(400, `batch ${batch_id} is ${batch.status} already`)
    return toRecord(batch, outputNames)
  },
})

function toRecord(batch: Batch, outputNames: VendorNames | undefined): SimulatedRecord {
  const record = batch.toRecord()
  return outputNames?.lines.nameErrors(record) ?? record
}
