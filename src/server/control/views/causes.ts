import * as z from 'zod'
import type { Entry } from '../../../kernel/journal.ts'
import { fieldsOf } from '../../../lib/fields.ts'
import { queryInteger } from '../../../service/fields.ts'
import { refuse } from '../../../service/refusals.ts'
import * as causeTrees from '../../../simulator/explain/cause-tree.ts'
import { describeEntry } from '../../../simulator/explain/kind-sentences.ts'
import { control, refuseInvalid } from '../endpoint.ts'
import { EntrySentenceSchema } from '../journal-view.ts'
import { nameOfThing } from '../thing-names.ts'

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
    waiting: z
      .array(z.object({ id: z.string(), name: z.string().describe('Its model') }))
      .describe('Deployments that wait now because of the entry, at most 100'),
    money: z
      .array(
        z.object({
          ...fieldsOf(z.string(), 'id', 'kind', 'name'),
          since_microcents: z.int().describe('What it cost since the time of the entry'),
          spent_microcents: z.int().describe('What it cost since the begin of the world'),
          burn_microcents_per_hour: z.number().describe('Its rent now'),
        }),
      )
      .describe('Owners of costs among the things of the entry and its effects, the most expensive since then first'),
  }),
  handle: async ({ params, query: { limit }, sim, lookAtMoney }) => {
    const text = String(params.seq)
    if (!/^\d{1,15}$/.test(text)) {
      refuse(404, `Failed to read the entry '${text}': a position is a whole number. Give a seq of GET /_sim/journal.`)
    }
    const find = () => causeTrees.findCauseTree(sim, Number(text), Number(limit), lookAtMoney())
    const { causes, entry, effects, matched, waiting, money } = await refuseInvalid(find, 404)
    const toView = (each: Entry) => ({
      ...{ seq: each.seq, at: sim.world.clock.iso(each.time), kind: each.kind },
      ...{ subject: each.subject, sentence: describeEntry(each) },
    })
    return {
      ...{ causes: causes.map(toView), entry: toView(entry), matched },
      effects: effects.map(effect => ({ ...toView(effect.entry), depth: effect.depth })),
      waiting: waiting.slice(0, MAX_WAITING).map(({ id, name }) => ({ id, name })),
      money: money.map(({ id, kind, since, spent, burnPerHour }) => ({
        ...{ id, kind, name: kind === 'model' || kind === 'batch' ? id : nameOfThing(sim.world, id) },
        ...{ since_microcents: since, spent_microcents: spent, burn_microcents_per_hour: burnPerHour },
      })),
    }
  },
})
