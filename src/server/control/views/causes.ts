import * as z from 'zod'
import { fieldsOf } from '../../../lib/fields.ts'
import { queryInteger, rowsOf } from '../../../service/fields.ts'
import { loadTokenizer } from '../../../service/openai/tokenizer.ts'
import { refuse } from '../../../service/refusals.ts'
import * as causeTrees from '../../../simulator/explain/cause-tree.ts'
import * as explanations from '../../../simulator/explain/explain.ts'
import { control, refuseInvalid } from '../endpoint.ts'
import { EntrySentenceSchema } from '../event-views.ts'
import { nameOfThing } from '../world-view.ts'

/** How many waiting deployments are listed. */
const MAX_WAITING = 100

export const getCauses = control({
  route: 'GET /_sim/causes/{seq}',
  summary:
    'Return the causes of a journal entry back to the first one, and everything that came of it. `waiting` has the ' +
    'deployments that wait because of the entry, and `money` what the things of the entry and of its effects cost ' +
    'since then. Refused requests have the entry that decided them as their cause',
  example: { target: '/_sim/causes/1?limit=50' },
  refusals: { 404: 'a position that the journal does not have' },
  query: { limit: queryInteger({ min: 0, max: 20_000 }).default(300) },
  returns: z.object({
    causes: z.array(EntrySentenceSchema).describe('The first cause first. Repeated steps of a subject are left out'),
    entry: EntrySentenceSchema,
    effects: z
      .array(
        EntrySentenceSchema.extend({ depth: z.int().describe('Steps from the entry: 1 for what it caused itself') }),
      )
      .describe('Each below its own cause, in the order of time'),
    matched: z.int().describe('The number of all effects, also those beyond limit'),
    waiting: rowsOf({ id: z.string(), name: z.string().describe('Its model') }).describe(
      'Deployments that wait now because of the entry, at most 100',
    ),
    money: rowsOf({
      ...fieldsOf(z.string(), 'id', 'kind', 'name'),
      since_microcents: z.int().describe('What it cost since the time of the entry'),
      spent_microcents: z.int().describe('What it cost since the begin of the world'),
      burn_microcents_per_hour: z.number().describe('Its rent now'),
    }).describe('Owners of costs among the things of the entry and its effects, the most expensive since then first'),
  }),
  handle: async ({ params, query: { limit }, sim, lookAtMoney }) => {
    const text = String(params.seq)
    if (!/^\d{1,15}$/.test(text)) {
      refuse(404, `Failed to read the entry '${text}': a position is a whole number. Give a seq of GET /_sim/journal.`)
    }
    const find = () => causeTrees.findCauseTree(sim, Number(text), Number(limit), lookAtMoney())
    const { waiting, money, ...tree } = await refuseInvalid(find, 404)
    return {
      ...tree,
      waiting: waiting.slice(0, MAX_WAITING).map(({ id, name }) => ({ id, name })),
      money: money.map(({ id, kind, since, spent, burnPerHour }) => ({
        ...{ id, kind, name: nameOfThing(sim.world, id, kind) },
        ...{ since_microcents: since, spent_microcents: spent, burn_microcents_per_hour: burnPerHour },
      })),
    }
  },
})

export const explainSubject = control({
  route: 'GET /_sim/explain/{subject}',
  summary:
    'Explain a thing by its id or name, or a journal entry by its position: its state, what decided it, its causes and ' +
    'effects, and what happens to it next',
  example: { target: '/_sim/explain/h100-0' },
  refusals: { 404: 'an unknown id, or a position that the journal does not have' },
  returns: z.object({
    subject: z.string().describe('The id; `request 4` for the fourth request, `entry 12` for a position'),
    sentences: z.array(z.string()),
    chain: z.array(EntrySentenceSchema).describe('What decided its state, then the causes back to the first'),
    effects: z.array(EntrySentenceSchema).describe('What came of it, oldest first: at most 20'),
    next: z
      .object({
        at: z.string().describe('The time as ISO 8601'),
        in: z.string().describe('The time from now, as in `2m 5s`'),
        sentence: z.string(),
      })
      .optional()
      .describe('What happens next without a further request or command; missing if nothing is planned'),
  }),
  handle: async ({ params: { subject }, sim }) => {
    if (sim.world.needsTokenizer) await loadTokenizer()
    return refuseInvalid(() => explanations.explain(sim, subject), 404)
  },
})
