import * as z from 'zod'
import type { FileHandle } from '../../simulation/batches/files.ts'
import type { ApiScope } from '../api-scope.ts'
import { BatchRequestLine, BatchResultLine } from '../batch-lines.ts'
import { documented, neighbour, type SizeLimit } from '../endpoint.ts'
import { FILE_LIFE_SECONDS, queryInteger } from '../fields.ts'
import { paginate } from '../list-params.ts'
import { FileRecord, listSchema } from '../records.ts'
import { refuse, rejectInput } from '../refusals.ts'
import { Bytes } from '../results.ts'

const MIB = 1_048_576
const FILE_SIZE_LIMIT: SizeLimit = { bytes: 512 * MIB, refusal: 'file is larger than 512 MB' }
const BATCH_INPUT_SIZE_LIMIT: SizeLimit = {
  bytes: 200 * MIB,
  refusal: "file is larger than 200 MB, the limit of purpose 'batch'",
}

export const uploadFile = documented({
  route: 'POST /v1/files',
  isMirrored: true,
  summary: 'Upload a file of batch requests',
  assumptions: [
    '200 with id, object, bytes, created_at, filename, purpose, expires_at',
    "purpose is 'batch'",
    'expires_after[anchor] is created_at, expires_after[seconds] is 3,600 to 2,592,000: both or neither; default 30 days',
    'expires_at is created_at plus these seconds',
    'the content is not checked; the validation of a batch reports its errors',
    'the form parts can have any order',
  ],
  refusals: {
    413: 'over 512 MB, over 200 MB with purpose batch, or over the storage of the account; nothing is stored',
  },
  errorShape: 'wrapped',
  upload: {
    fields: {
      purpose: z.enum(['batch']),
      'expires_after[anchor]': z.enum(['created_at']).optional(),
      'expires_after[seconds]': queryInteger(FILE_LIFE_SECONDS).optional(),
    },
    limit: ({ world }) => {
      const freeBytes = world.maxStorageBytes - world.files.storedBytes
      return freeBytes < FILE_SIZE_LIMIT.bytes
        ? { bytes: Math.max(0, freeBytes), refusal: storageFullMessage(world.maxStorageBytes) }
        : FILE_SIZE_LIMIT
    },
    limitFor: ({ purpose }) => (purpose === 'batch' ? BATCH_INPUT_SIZE_LIMIT : undefined),
  },
  fileLine: BatchRequestLine,
  returns: FileRecord,
  example: {
    form: {
      fields: { purpose: 'batch' },
      filename: 'requests.jsonl',
      content:
        '{"custom_id":"one","method":"POST","url":"/v1/chat/completions","body":{"model":"aurora-labs/aurora-8b-instruct",' +
        '"messages":[{"role":"user","content":"Hello"}]}}\n',
    },
  },
  handle: ({ upload: { purpose, file, ...life }, world, inputNames, outputNames }) => {
    const seconds = life['expires_after[seconds]']
    if ((life['expires_after[anchor]'] === undefined) !== (seconds === undefined)) {
      rejectInput(['body', 'expires_after'], 'give both anchor and seconds, or neither')
    }
    // The storage may have filled up during this upload.
    if (world.files.storedBytes + file.bytes > world.maxStorageBytes)
      refuse(413, storageFullMessage(world.maxStorageBytes))
    const stored = world.files.create({
      ...{ ...file, filename: file.filename || 'file', purpose, lifeSeconds: seconds },
      identity: inputNames?.lines.toInternalContent(file),
    })
    return toFileRecord(stored, { world, outputNames })
  },
})

export const listFiles = neighbour({
  route: 'GET /v1/files',
  isMirrored: true,
  summary: 'List files, a page at a time',
  roles: ['list file'],
  assumptions: [
    'newest first; with order=asc oldest first',
    'limit: 1 to 10,000, default 10,000',
    'after: id of the last entry of the previous page',
    'the list has the output and error files of batches, with the purpose batch_output',
    'first_id and last_id are null if data is empty',
  ],
  refusals: { 404: 'unknown id in after' },
  errorShape: 'wrapped',
  query: {
    after: z.string().optional(),
    limit: queryInteger({ min: 1, max: 10_000 }).default(10_000),
    order: z.enum(['asc', 'desc']).default('desc'),
    purpose: z.string().optional(),
  },
  returns: listSchema(FileRecord, 'FileList'),
  example: { target: '/v1/files?purpose=batch&order=asc' },
  handle: ({ query: { order, purpose, ...page }, world, outputNames }) => {
    const files = world.files.list().filter(file => purpose === undefined || file.purpose === purpose)
    return paginate(order === 'asc' ? files : files.reverse(), page, file => toFileRecord(file, { world, outputNames }))
  },
})

export const getFile = neighbour({
  route: 'GET /v1/files/{file_id}',
  isMirrored: true,
  summary: 'Get one file, without its content',
  roles: ['read file'],
  assumptions: [],
  refusals: { 404: 'unknown file' },
  errorShape: 'wrapped',
  returns: FileRecord,
  example: { target: '/v1/files/file_HSCZDQPBeSpnXB5vXxnzQcds' },
  handle: ({ params, world, outputNames }) =>
    toFileRecord(world.files.get(params.file_id) ?? refuse(404, 'file not found'), { world, outputNames }),
})

export const deleteFile = neighbour({
  route: 'DELETE /v1/files/{file_id}',
  isMirrored: true,
  summary: 'Delete a file',
  assumptions: ['a batch with this input file continues'],
  roles: ['delete file'],
  refusals: { 404: 'unknown file' },
  errorShape: 'wrapped',
  returns: z.object({ id: z.string(), object: z.literal('file'), deleted: z.literal(true) }),
  example: { target: '/v1/files/file_HSCZDQPBeSpnXB5vXxnzQcds' },
  handle: ({ params: { file_id }, world }) => {
    if (!world.files.delete(file_id)) refuse(404, 'file not found')
    return { id: file_id, object: 'file' as const, deleted: true as const }
  },
})

export const getFileContent = neighbour({
  route: 'GET /v1/files/{file_id}/content',
  isMirrored: true,
  summary: 'Get the content of a file',
  roles: ['content file'],
  assumptions: ['the bytes as they are, as binary/octet-stream, with the filename in content-disposition'],
  refusals: { 404: 'unknown file' },
  errorShape: 'wrapped',
  fileLine: BatchResultLine,
  returns: z.string(),
  produces: 'binary/octet-stream',
  example: { target: '/v1/files/file_HSCZDQPBeSpnXB5vXxnzQcds/content' },
  handle: ({ params, world, outputNames }) => {
    const file = world.files.get(params.file_id) ?? refuse(404, 'file not found')
    const chunks = outputNames?.lines.toVendorContent(file).chunks ?? file.chunks()
    return new Bytes(chunks, { filename: file.filename })
  },
})

function toFileRecord(
  file: FileHandle,
  { world: { clock }, outputNames }: Pick<ApiScope, 'world' | 'outputNames'>,
): z.input<typeof FileRecord> {
  return {
    id: file.id,
    object: 'file',
    bytes: outputNames?.lines.toVendorContent(file).bytes ?? file.bytes,
    created_at: clock.unix(file.createdAt),
    filename: file.filename,
    purpose: file.purpose,
    expires_at: clock.unix(file.expiresAt),
  }
}

function storageFullMessage(limit: number): string {
  return `file does not fit: the files of the account may hold ${limit} bytes`
}
