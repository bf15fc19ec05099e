import { z } from 'zod'
import { FileRecord } from './answers.ts'
import { Bytes, endpoint, refuse, type SizeLimit } from './endpoint.ts'

const MIB = 1_048_576
const ANY_FILE: SizeLimit = { bytes: 512 * MIB, refusal: 'file is larger than 512 MB' }
const BATCH_INPUT: SizeLimit = { bytes: 200 * MIB, refusal: "file is larger than 200 MB, the limit of purpose 'batch'" }

export const uploadFile = endpoint({
  route: 'POST /v1/files',
  summary: 'Upload a file of batch requests',
  provenance: 'documented',
  assumed: [
    '200 with id, object, bytes, created_at, filename, purpose, expires_at',
    "purpose is only 'batch'",
    'expires_at is 30 days after created_at',
    'the content is not looked at here: validation of a batch finds what is wrong with it',
    'the order of the parts is free',
  ],
  refusals: { 413: 'over 512 MB, over 200 MB for a batch, or over the storage of the account; nothing is stored' },
  errors: 'wrapped',
  upload: {
    fields: { purpose: z.enum(['batch']) },
    limit: ({ world }) => {
      const left = world.maxStorageBytes - world.files.storedBytes
      return left < ANY_FILE.bytes
        ? { bytes: Math.max(0, left), refusal: storageFull(world.maxStorageBytes) }
        : ANY_FILE
    },
    limitFor: ({ purpose }) => (purpose === 'batch' ? BATCH_INPUT : undefined),
  },
  returns: FileRecord,
  handle: ({ upload: { purpose, file }, world }) => {
    // Another upload may have been stored while this one came in.
    if (world.files.storedBytes + file.bytes > world.maxStorageBytes) refuse(413, storageFull(world.maxStorageBytes))
    const stored = world.files.create({ ...file, filename: file.filename || 'file', purpose })
    return {
      id: stored.id,
      object: 'file' as const,
      bytes: stored.bytes,
      created_at: world.clock.unix(stored.createdAt),
      filename: stored.filename,
      purpose: stored.purpose,
      expires_at: world.clock.unix(stored.expiresAt),
    }
  },
})

export const getFileContent = endpoint({
  route: 'GET /v1/files/{file_id}/content',
  summary: 'The bytes of a file',
  provenance: 'neighbour',
  assumed: ['raw bytes as application/octet-stream'],
  refusals: { 404: 'unknown file' },
  errors: 'wrapped',
  returns: z.string(),
  produces: 'application/octet-stream',
  handle: ({ params, world }) => {
    const file = world.files.get(params.file_id) ?? refuse(404, 'file not found')
    return new Bytes(file.chunks())
  },
})

function storageFull(limit: number): string {
  return `file does not fit: the files of the account may hold ${limit} bytes (--max-storage)`
}
