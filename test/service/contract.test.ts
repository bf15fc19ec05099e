/** Compares the declarations with the interface document, copied here by hand: one row for each endpoint of its part 4. */

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { AnyEndpoint } from '../../src/service/endpoint.ts'
import { documentedOperations, operations } from '../../src/service/index.ts'
import { listAssumptions } from '../../src/service/openapi/openapi.ts'
import { endpointTable } from '../../tools/scaffold/endpoint-table.ts'

interface Row {
  /** Names of fields. */
  query?: string
  body?: string
  required?: string
  form?: string
  /** Fields of the answer, or of an entry if the answer is a list. */
  returns?: string
  alt?: true
  auth?: 'none' | 'optional'
}

const words = (text = '') => text.split(' ').filter(Boolean)

const DEPLOYMENT =
  'deploy_id model_name version task status fail_reason created_at updated_at type instances config settings'
const BATCH =
  'id object endpoint input_file_id completion_window status created_at expires_at errors ' +
  'output_file_id error_file_id in_progress_at completed_at failed_at finalizing_at expired_at cancelled_at cancelling_at request_counts metadata'
const MODEL =
  'model_name type reported_type pricing description cover_img_url tags ' +
  'max_tokens replaced_by deprecated quantization mmlu expected private is_partner'
const VOICE = 'user_id voice_id name description created_at updated_at'

const DOCUMENT: [operation: string, route: string, Row][] = [
  ['listApiTokens', 'GET /v1/api-tokens', { returns: 'token created_at name token_id allowed_ips' }],
  ['setTopup', 'POST /payment/topup', { body: 'amount threshold enabled' }],
  ['addFunds', 'POST /payment/funds', { body: 'amount' }],
  ['getRentUsage', 'GET /payment/usage/rent', { query: 'from to', returns: 'id_to_duration' }],
  ['requestGpuLimit', 'POST /v1/me/gpu_limit/request', { body: 'gpu_type requested_limit reason' }],
  // The last two are those of the compatible protocol.
  [
    'uploadFile',
    'POST /v1/files',
    {
      form: 'purpose expires_after[anchor] expires_after[seconds]',
      returns: 'id object bytes created_at filename purpose expires_at',
    },
  ],
  // The document marks metadata as required but describes it as optional.
  [
    'createBatch',
    'POST /v1/batches',
    {
      alt: true,
      body: 'input_file_id endpoint completion_window metadata output_expires_after',
      required: 'input_file_id endpoint completion_window',
      returns: BATCH,
    },
  ],
  [
    'createLlmDeployment',
    'POST /deploy/llm',
    {
      alt: true,
      body: 'model_name gpu num_gpus max_batch_size hub base_model container_image settings extra_args',
      required: 'model_name gpu',
      returns: DEPLOYMENT,
    },
  ],
  [
    'createLora',
    'POST /v1/lora/create',
    {
      alt: true,
      body: 'base_model lora_name source private description',
      required: 'base_model lora_name source private',
      returns: DEPLOYMENT,
    },
  ],
  ['listDeployments', 'GET /deploy/list', { alt: true, query: 'status', returns: DEPLOYMENT }],
  ['startDeployment', 'POST /deploy/{deploy_id}/start', { returns: 'deploy_id' }],
  ['deleteModel', 'DELETE /models/{model_name}', { query: 'version' }],
  ['listModels', 'GET /models/deployment/list', { alt: true, returns: MODEL }],
  [
    'getModelSchema',
    'GET /models/{model_name}/schema/{variantKey}',
    { alt: true, query: 'version', returns: 'variant fields_in schema_in schema_out schema_stream' },
  ],
  ['getHardware', 'GET /v2/hardware', { query: 'model', returns: 'hardware' }],
  ['listAggregatorModels', 'GET /aggregator/models', { auth: 'none', returns: 'data' }],
  ['listVoices', 'GET /v1/voices', { returns: 'voices' }],
  ['getVoice', 'GET /v1/voices/{voice_id}', { returns: VOICE }],
  [
    'countTokens',
    'POST /vendor_a/v1/messages/count_tokens',
    { auth: 'optional', body: 'model messages system tools thinking tool_choice', returns: 'input_tokens' },
  ],
  ['renameHosted', 'PATCH /v1/hosted/{instance_id}', { body: 'name' }],
  ['expandHostedStorage', 'POST /v1/hosted/{instance_id}/expand_storage', { body: 'new_size_gb' }],
]

interface Described {
  properties?: Record<string, unknown>
  required?: string[]
  items?: Described
  $ref?: string
  $defs?: Record<string, Described>
}

const described = (schema: z.ZodType, io: 'input' | 'output') =>
  z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Described
/** Returns the fields of an object or of the entries of a list. Named schemas are under $defs. */
function fieldsOf(schema: Described): string[] {
  const at = (one: Described) => schema.$defs?.[one.$ref?.split('/').at(-1) ?? ''] ?? one
  const named = at(schema)
  return Object.keys(at(named.items ?? named).properties ?? {})
}
const declared: Record<string, AnyEndpoint> = operations

test('exactly the 21 endpoints of the interface document are declared as documented', () => {
  expect(DOCUMENT).toHaveLength(21)
  expect(Object.keys(documentedOperations).sort()).toEqual(DOCUMENT.map(([operation]) => operation).sort())
})

describe('a row of the interface document', () => {
  test.each(DOCUMENT)('%s %s', (operation, route, row) => {
    const endpoint = declared[operation]!
    expect(endpoint.route).toBe(route)
    expect(endpoint.provenance).toBe('documented')
    expect(endpoint.acceptsKeyHeader).toBe(row.alt ?? false)
    expect(endpoint.auth).toBe(row.auth ?? 'token')
    expect(Object.keys(endpoint.query)).toEqual(words(row.query))
    expect(Object.keys(endpoint.upload?.fields ?? {})).toEqual(words(row.form))
    const body = endpoint.body && described(endpoint.body, 'input')
    expect(body ? fieldsOf(body) : []).toEqual(words(row.body))
    if (row.required) expect(body?.required).toEqual(words(row.required))
    expect(fieldsOf(described(endpoint.returns, 'output')).sort()).toEqual(words(row.returns).sort())
  })
})

test('every endpoint that goes beyond the document lists its assumptions', () => {
  for (const [operation, endpoint] of Object.entries(declared)) {
    expect(endpoint.summary, operation).not.toBe('')
    expect(listAssumptions(endpoint), operation).not.toEqual([])
  }
})

test('the endpoint table has a row for each operation and each mirror', () => {
  const table = endpointTable(operations)
  const mirrors = Object.values<AnyEndpoint>(operations).flatMap(({ mirror }) => mirror ?? [])
  expect(new Set(mirrors)).toEqual(
    new Set([
      ...['/v1/compat/files', '/v1/compat/files/{file_id}', '/v1/compat/files/{file_id}/content'],
      ...['/v1/compat/batches', '/v1/compat/batches/{batch_id}', '/v1/compat/batches/{batch_id}/cancel'],
      ...['/v1/compat/models', '/v1/compat/chat/completions', '/v1/compat/completions', '/v1/compat/embeddings'],
      ...['/v1/compat/images/generations', '/v1/compat/images/edits', '/v1/compat/images/variations'],
      ...['/v1/compat/audio/speech', '/v1/compat/audio/transcriptions', '/v1/compat/audio/translations'],
    ]),
  )
  expect(table).toHaveLength(Object.keys(operations).length + mirrors.length)
  expect(Object.values<AnyEndpoint>(documentedOperations).flatMap(({ mirror }) => mirror ?? [])).toEqual([])
  expect(table.find(row => row.operation === 'startDeployment')).toEqual({
    method: 'POST',
    path: '/deploy/{deploy_id}/start',
    operation: 'startDeployment',
    provenance: 'documented',
    summary: expect.any(String),
    assumed: expect.arrayContaining(['404: unknown deployment']),
  })
})
