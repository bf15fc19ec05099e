import * as z from 'zod'
import type { Entry } from '../../../kernel/journal.ts'
import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { fieldsOf } from '../../../lib/fields.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { splitCommas } from '../../../lib/text/words.ts'
import { queryInteger } from '../../../service/fields.ts'
import { refuse } from '../../../service/refusals.ts'
import { instanceCounts } from '../../../simulation/reporting/time-series.ts'
import { describeEntry } from '../../../simulator/explain/kind-sentences.ts'
import { parseMoment } from '../../../simulator/requests/find.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { control, refuseInvalid } from '../endpoint.ts'
import { nameOfThing } from '../world-view.ts'
import { beginOf, LIFE_KINDS, type Life, LifeSchema, MarkSchema, readLives } from './lives.ts'

export const getLifecycles = control({
  route: 'GET /_sim/lifecycles',
  summary:
    'List the lives of deployments, instances, batches, rentals and nodes: their states with begin and end, replicas ' +
    'and marks. `kind` is a list with commas. With `from` and `to` (times), it lists only those that overlap the window',
  example: { target: '/_sim/lifecycles?kind=deployment,batch&limit=20' },
  refusals: { 400: 'an unknown kind, or an invalid time' },
  query: {
    ...fieldsOf(z.string().optional(), 'kind', 'from', 'to'),
    limit: queryInteger({ min: 1, max: 20_000 }).default(500),
  },
  returns: z.object({
    now: z.string(),
    now_time: z.int(),
    matched: z.int().describe('How many match, also those beyond limit'),
    dropped: z.int().describe('Number of entries that the journal has dropped'),
    rows: z.array(LifeSchema).describe('The oldest first'),
    world_marks: z.array(MarkSchema).describe('What happened to the provider, the account and the fault rules'),
  }),
  handle: async ({ query: { kind, from, to, limit }, sim }) => {
    const time = (field: string, text: string | undefined) =>
      text === undefined ? undefined : parseMoment(sim.world.clock, text, field, 'Failed to list lifecycles')
    const filter = await refuseInvalid(() => ({
      kinds: readKinds(kind),
      from: time('from', from) ?? Number.NEGATIVE_INFINITY,
      to: time('to', to) ?? Number.POSITIVE_INFINITY,
    }))
    if (filter.from > filter.to) {
      refuse(400, `Failed to list lifecycles from '${from}' to '${to}': it ends before it begins. Swap the two.`)
    }
    const { lives, worldMarks } = readLives(sim, filter)
    const { clock, journal } = sim.world
    return {
      ...{ now: clock.iso(), now_time: clock.now, matched: lives.length, dropped: journal.dropped },
      rows: lives.slice(0, limit).map(life => toRow(sim, life)),
      world_marks: worldMarks.slice(-LIMITS.listedMarks).map(toMark),
    }
  },
})

function readKinds(text: string | undefined): ReadonlySet<string> {
  const kinds = splitCommas(text) ?? []
  for (const kind of kinds) {
    if ((LIFE_KINDS as readonly string[]).includes(kind)) continue
    const advice = formatSuggestion(kind, new Set(LIFE_KINDS), `Kinds are ${LIFE_KINDS.join(', ')}.`)
    refuse(400, `Failed to list lifecycles: unknown kind '${kind}'. ${advice}`)
  }
  return new Set(kinds)
}

function toRow(sim: Simulator, life: Life): z.input<typeof LifeSchema> {
  const { id, kind, segments, marks, end, requests } = life
  return {
    ...{ id, kind, name: nameOfThing(sim.world, id, kind) },
    owner: kind === 'instance' ? id.slice(0, id.lastIndexOf('-')) : null,
    ...{ state: segments.at(-1)?.state ?? '', begin: beginOf(life), end, segments },
    replicas: kind === 'deployment' ? replicasOf(sim, id) : [],
    marks: marks.slice(-LIMITS.listedMarks).map(toMark),
    requests,
  }
}

function toMark(entry: Entry): z.input<typeof MarkSchema> {
  const { time, seq, kind, subject } = entry
  return { time, seq, kind, subject, sentence: describeEntry(entry) }
}

/** Returns the instances of a deployment from each time on, without times before the start of the world. */
function replicasOf({ world }: Simulator, id: string) {
  const row = world.deployments.findById(id)
  if (row === undefined) return []
  const steps: { time: number; ready: number; starting: number }[] = []
  for (const { at, ready, pending } of instanceCounts(world, row)) {
    if (!Number.isFinite(at)) continue
    const step = { time: Math.max(0, at), ready, starting: pending }
    if (steps.at(-1)?.time === step.time) steps.pop()
    steps.push(step)
  }
  return steps
}
