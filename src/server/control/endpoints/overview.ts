import * as z from 'zod'
import { fieldsOf } from '../../../lib/fields.ts'
import { VERSION } from '../../../lib/version.ts'
import { ERROR_SHAPES, type Operations } from '../../../service/endpoint.ts'
import { rowsOf } from '../../../service/fields.ts'
import { HEADER_WORDS, PATH_WORDS, VARIANT_WORDS } from '../../../service/naming/sections.ts'
import { vocabularyOf } from '../../../service/naming/vocabulary.ts'
import { Bytes } from '../../../service/results.ts'
import { ExampleSchema, exampleRequest, ParameterSchema, parametersOf } from '../describe.ts'
import { control, refuseInvalid } from '../endpoint.ts'
import { PendingRequestSchema, pendingRequestsOf } from '../world-view.ts'

export const getHealth = control({
  route: 'GET /_sim/health',
  summary: 'Return whether the simulator is up. It answers during a long move of the clock too',
  auth: 'none',
  returns: z.object({ status: z.literal('ok'), version: z.string(), seed: z.string(), now: z.string() }),
  handle: ({ sim }) => ({
    status: 'ok' as const,
    version: VERSION,
    seed: sim.seed,
    // The time of a scaled clock: reading it fires no events.
    now: sim.world.clock.iso(sim.clock.due),
  }),
})

export const getOverview = control({
  route: 'GET /_sim',
  summary:
    'List the endpoints of the control plane with their parameters and an example. `waiting` lists the pending ' +
    'requests of this world: since when each waits, for what, and until when',
  returns: z.object({
    name: z.string(),
    version: z.string(),
    waiting: z.array(PendingRequestSchema),
    endpoints: rowsOf({
      ...fieldsOf(z.string(), 'method', 'path', 'operation', 'summary'),
      takes: z.array(ParameterSchema),
      example: ExampleSchema,
    }),
  }),
  handle: ({ operations, sim }) => ({
    name: 'modelhost-sim',
    version: VERSION,
    waiting: pendingRequestsOf(sim),
    endpoints: Object.entries(operations).map(([operation, endpoint]) => ({
      method: endpoint.method,
      path: endpoint.path,
      operation,
      summary: endpoint.summary,
      takes: parametersOf(endpoint),
      example: exampleRequest(endpoint),
    })),
  }),
})

export const getUnread = control({
  route: 'GET /_sim/unread',
  summary:
    'List the parameters, fields and bodies of the newest 1,000 requests that nothing reads. It needs strict ' +
    'requests (`--strict-requests`)',
  refusals: { 400: 'a world without strict requests' },
  returns: rowsOf({ operation: z.string(), what: z.string(), times: z.int() }),
  handle: ({ sim }) => refuseInvalid(() => sim.unreadFields),
})

export const getRoot = control({
  route: 'GET /',
  summary: 'Describe this server in a few words',
  auth: 'none',
  produces: 'text/plain; charset=utf-8',
  returns: z.string(),
  handle: ({ sim }) => {
    const endpoints = Object.keys(sim.api.routes).length
    const text =
      `modelhost-sim ${VERSION}: a simulated model-hosting service. Nothing here is real.\n\n` +
      `the service    ${endpoints} endpoints, described in /openapi.json\n` +
      'control plane  listed by /_sim\n' +
      'health         /_sim/health\n'
    return new Bytes([new TextEncoder().encode(text)])
  },
})

const FieldList = rowsOf({
  field: z.string().describe('As in config.gpu'),
  words: z.array(z.string()).describe('The words that the field is one of; empty if it may be others'),
})

export const getFields = control({
  route: 'GET /_sim/fields',
  summary:
    'List what a names profile can name: records with their fields and words, operations with the fields outside of ' +
    'records, words of paths, headers, tags and error shapes. The names are neutral',
  returns: z.object({
    records: rowsOf({ record: z.string(), fields: FieldList }),
    operations: rowsOf({ operation: z.string(), route: z.string(), fields: FieldList }),
    ...fieldsOf(z.array(z.string()), 'paths', 'headers', 'variants', 'tags'),
    error_shapes: z.array(z.enum(ERROR_SHAPES)),
  }),
  handle: ({ sim }) => {
    const operations = Object.entries(sim.api.operations as Operations<unknown>)
    const byOwner = new Map<string, { field: string; words: string[] }[]>()
    for (const [place, words] of vocabularyOf(sim.api.operations)) {
      const dot = place.indexOf('.')
      const owner = place.slice(0, dot)
      byOwner.set(owner, [...(byOwner.get(owner) ?? []), { field: place.slice(dot + 1), words: [...words] }])
    }
    const records = [...byOwner.keys()].filter(owner => !Object.hasOwn(sim.api.operations, owner)).sort()
    return {
      records: records.map(record => ({ record, fields: byOwner.get(record)! })),
      operations: operations.map(([operation, { route }]) => ({
        ...{ operation, route },
        fields: byOwner.get(operation) ?? [],
      })),
      paths: Object.keys(PATH_WORDS),
      headers: HEADER_WORDS,
      variants: VARIANT_WORDS,
      tags: [...new Set(sim.world.store.models.all().flatMap(({ tags }) => tags))].sort(),
      error_shapes: ERROR_SHAPES,
    }
  },
})
