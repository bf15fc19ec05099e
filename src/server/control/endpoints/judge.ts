import * as z from 'zod'
import { fieldsOf, given } from '../../../lib/fields.ts'
import { splitCommas } from '../../../lib/text/words.ts'
import { rowsOf } from '../../../service/fields.ts'
import * as judging from '../../../simulator/judge/judge.ts'
import type { JudgeOptions } from '../../../simulator/judge/judgement.ts'
import { control, refuseInvalid } from '../endpoint.ts'

const FindingSchema = z.object({
  rule: z.string(),
  client: z.string().describe("The id of its API token; '' for none, '*' for several clients"),
  words: z.string().describe('What happened, in one to three sentences'),
  operation: z.string().describe("Where the client went wrong; '' for none"),
  subject: z.string().optional().describe('The id of the thing that it is about'),
  evidence: z.array(z.string()).describe('Requests, journal entries and postings, a line for each'),
  source: z.string().describe('Why it is a rule'),
  advice: z.string(),
})

export const judgeClients = control({
  route: 'GET /_sim/judge',
  summary:
    'Judge the conduct of the clients when they have ended. Each API token is a client. The rules in `off` are not ' +
    'applied, and the things in `keep` may go on: both are lists with commas. `client` is the id or the name of a ' +
    'token. See docs/judge.md',
  example: { target: '/_sim/judge?off=usesLists&pollsAtMost=0.5' },
  refusals: { 400: 'an unknown rule, client or id, or an invalid rate' },
  query: { ...fieldsOf(z.string().optional(), 'off', 'keep', 'pollsAtMost', 'client') },
  returns: z.object({
    findings: z.array(FindingSchema),
    rules: z.array(z.string()).describe('The rules that were applied'),
    clients: rowsOf({
      client: z.string().describe("The id of the API token; '' for none"),
      name: z.string().describe('The name of the API token'),
      requests: z.int(),
    }),
    dropped: z.int().describe('Older requests that are no longer kept, and were not judged'),
  }),
  handle: async ({ query: { off, keep, pollsAtMost, client }, sim }) => {
    const named = toList(off)?.map(name => [name, false] as const)
    const rules = named && Object.fromEntries(named)
    const options: JudgeOptions = {
      ...given({ rules, keep: toList(keep), client }),
      ...(pollsAtMost !== undefined && { pollsAtMost: pollsAtMost.trim() === '' ? Number.NaN : Number(pollsAtMost) }),
    }
    return refuseInvalid(() => judging.judge(sim, options))
  },
})

/** Returns the words of a list. An empty list has none. */
function toList(text: string | undefined): string[] | undefined {
  return splitCommas(text)?.filter(word => word !== '')
}
