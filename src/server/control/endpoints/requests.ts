import * as z from 'zod'
import type { DecidedBy } from '../../../kernel/journal.ts'
import { fieldsOf, given } from '../../../lib/fields.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { splitCommas } from '../../../lib/text/words.ts'
import { queryInteger, rowsOf } from '../../../service/fields.ts'
import { type FoundRequests, findRequests, type RequestFilter } from '../../../simulator/requests/find.ts'
import type { StatusPattern } from '../../../simulator/requests/pattern.ts'
import { type RequestExpectation, type VerifyOptions, verifyRequests } from '../../../simulator/requests/verify.ts'
import { control, refuseInvalid } from '../endpoint.ts'
import { RequestSchema, toRequestView } from '../event-views.ts'

export const listRequests = control({
  route: 'GET /_sim/requests',
  summary:
    'List the newest 1,000 requests that the service received, oldest first. Lists in a parameter have commas, and ' +
    '`*` is any text: docs/requests.md describes every parameter and field',
  example: { target: '/_sim/requests?operation=create*&status=4xx,503&from=10m&limit=5' },
  refusals: { 400: 'an unknown operation, method, status or token, or an invalid path or time' },
  query: {
    ...fieldsOf(z.string().optional(), 'operation', 'method', 'path', 'status', 'token'),
    ...fieldsOf(z.string().optional(), 'decidedBy', 'subject', 'from', 'to'),
    after: queryInteger({ min: 0 }).default(0),
    limit: queryInteger({ min: 0 }).default(100),
    bodies: z.enum(['short', 'whole', 'none']).default('short'),
  },
  returns: z.object({
    requests: z.array(RequestSchema),
    matched: z.int().describe('How many match, also those beyond limit'),
    dropped: z.int().describe('How many requests since the start or the last reset are no longer kept'),
    last: z.int().describe('seq of the last one here, for after; 0 for none'),
  }),
  handle: async ({ query: { operation, status, decidedBy, bodies, ...others }, sim }) => {
    const filter: RequestFilter = {
      ...others,
      ...given({
        operation: splitCommas(operation),
        status: splitCommas(status)?.map(word => (/^\d+$/.test(word) ? Number(word) : word) as StatusPattern),
        decidedBy: splitCommas(decidedBy) as DecidedBy[] | undefined,
      }),
    }
    const { requests, matched, dropped }: FoundRequests = await refuseInvalid(() => findRequests(sim, filter))
    const maxBody = bodies === 'whole' ? Number.POSITIVE_INFINITY : LIMITS.listedBody
    const views = requests.map(request => {
      const { body, ...view } = toRequestView(request, sim, maxBody)
      return bodies === 'none' || body === undefined ? view : { ...view, body }
    })
    return { requests: views, matched, dropped, last: requests.at(-1)?.seq ?? 0 }
  },
})

const NearMissSchema = z.object({
  seq: z.int(),
  ...fieldsOf(z.string(), 'operation', 'method', 'path'),
  status: z.int(),
  sentAt: z.string(),
  differs: z.array(z.string()).describe('As in body.model: expected "a", received "b"'),
})

const CountField = z.number().optional()

/** The fields of an expectation, for the documentation. `verifyRequests` checks them, with errors that name the field. */
const ExpectationFields = z.looseObject({
  operation: z.union([z.string(), z.array(z.string())]).optional(),
  method: z.string().optional(),
  path: z.string().optional(),
  status: z.unknown().optional(),
  body: z.unknown().optional(),
  token: z.string().optional(),
  decidedBy: z.union([z.string(), z.array(z.string())]).optional(),
  subject: z.string().optional(),
  ...fieldsOf(CountField, 'exactly', 'atLeast', 'atMost'),
  none: z.boolean().optional(),
})

export const verifyReceived = control({
  route: 'POST /_sim/verify',
  summary:
    'Verify which requests the service received: how many (`exactly`, `atLeast`, `atMost`, `none`; default: at least ' +
    '1), and their order (`inOrder`). The answer is 200 with `ok` true or false, and near misses with what differs',
  example: {
    body: {
      expect: [
        { operation: 'createLlmDeployment', none: true },
        { operation: 'list*', status: 200, atMost: 3 },
      ],
    },
  },
  refusals: {
    400: 'an unknown field, operation, method, status or token, contradictory counts, or an invalid path or time',
  },
  body: z.looseObject({
    expect: z.union([ExpectationFields, z.array(ExpectationFields)]),
    inOrder: z.boolean().optional(),
    from: z.string().optional(),
    to: z.string().optional(),
  }),
  returns: z.object({
    ok: z.boolean(),
    results: rowsOf({
      ok: z.boolean(),
      requests: z.string().describe('The requests that are meant'),
      expected: z.string().describe('As in exactly 2'),
      found: z.int(),
      matching: z.array(z.int()).describe('seq of the newest matching requests'),
      near: z.array(NearMissSchema).describe('The closest requests that do not match'),
      problem: z.string(),
    }),
    message: z.string().describe('What is wrong, for people'),
    compared: z.int(),
    dropped: z.int(),
  }),
  handle: async ({ body: { expect, ...options }, sim }) => {
    return refuseInvalid(() => verifyRequests(sim, expect as RequestExpectation[], options as VerifyOptions))
  },
})
