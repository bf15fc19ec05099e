/** A thing by its id: what it is, what happened to it, what it cost, and which other things belong to it. */

import * as z from 'zod'
import type { Entry } from '../../../kernel/journal.ts'
import { orNull, rowsOf } from '../../../service/fields.ts'
import { toRentalOrdinal } from '../../../simulation/fleet/tenants.ts'
import type { World } from '../../../simulation/world.ts'
import type { ReceivedRequest } from '../../../simulator/exchanges/request-log.ts'
import { Causes } from '../../../simulator/explain/causes.ts'
import { findEntry, unknownIdError } from '../../../simulator/explain/explain.ts'
import { THING_KINDS, type Thing, type ThingKind } from '../../../simulator/explain/explanation.ts'
import { describeEntry } from '../../../simulator/explain/kind-sentences.ts'
import { findThing } from '../../../simulator/explain/things.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { DescribedEntrySchema, PostingSchema, RequestSchema, toDescribedEntry, toRequestView } from '../event-views.ts'

const VIEWED_KINDS = [...THING_KINDS, 'request', 'entry'] as const
export type ViewedKind = (typeof VIEWED_KINDS)[number]

export const ThingSchema = z.object({
  id: z.string(),
  kind: z.enum(VIEWED_KINDS),
  sentences: z.array(z.string()).describe('What it is, and its state'),
  object: z.unknown().describe('The object as the service shows it, or the node or fault rule; null for none'),
  path: z.string().nullable().describe('Where the service shows it'),
  entries: z.array(DescribedEntrySchema).describe('The newest first'),
  requests: z.array(RequestSchema).describe('The newest first'),
  ledger: z
    .array(PostingSchema.pick({ time: true, kind: true, microcents: true, open: true }))
    .describe('The newest first'),
  cost: orNull({ burn_microcents_per_hour: z.number(), spent_microcents: z.int() }).describe(
    'What it costs now and cost so far, as in GET /_sim/money; null for what costs nothing',
  ),
  related: rowsOf({
    id: z.string(),
    kind: z.enum(VIEWED_KINDS),
    relation: z.string().describe('What this thing does with it, as in `runs on`'),
  }),
  links: rowsOf({ relation: z.string(), path: z.string() }),
})

/** What the simulator itself knows of a thing. */
export type ThingView = Omit<z.input<typeof ThingSchema>, 'object' | 'path' | 'cost' | 'links'>

/** Another thing, and what it is to this one. */
type Related = ThingView['related'][number]

/** The most entries, requests and postings of a view. */
const MAX_LISTED = 50
const MAX_RELATED = 100

/**
 * Returns a thing by its id or name, or a request or an entry by its position in the journal.
 *
 * @throws RangeError for an unknown id or position
 */
export function viewThing(sim: Simulator, id: string): ThingView {
  const causes = new Causes(sim)
  if (/^\d+$/.test(id)) return viewEntry(sim, causes, findEntry(sim, causes, Number(id)))
  const thing = findThing(sim, id, causes)
  if (thing === undefined) throw unknownIdError(sim, causes, id)
  return {
    ...{ id: thing.id, kind: thing.kind, sentences: [...thing.sentences] },
    entries: newest(causes.entries.filter(entry => thing.isOwn(entry))).map(entry => toDescribedEntry(entry, sim)),
    requests: requestsOf(sim, causes, thing).map(request => toRequestView(request, sim)),
    ledger: newest(sim.ledger.entries().filter(({ subject }) => subject === thing.id)).map(
      ({ time, kind, microcents, open }) => ({
        ...{ time: sim.world.clock.iso(time), kind, microcents, ...(open && { open }) },
      }),
    ),
    related: relatedTo(sim.world, thing.kind, thing.id).slice(0, MAX_RELATED),
  }
}

/** Returns the newest of a list, the newest first. */
function newest<Item>(items: readonly Item[]): Item[] {
  return items.slice(-MAX_LISTED).reverse()
}

/** Returns the newest requests that name a thing; of a token those sent with it, and of a fault rule those that it changed. */
function requestsOf(sim: Simulator, causes: Causes, { kind, id }: Thing): ReceivedRequest[] {
  const hits = new Set(kind === 'fault' ? causes.of(id).map(({ seq }) => seq) : [])
  const isMeant = (request: ReceivedRequest) => {
    if (kind === 'token') return request.client === id
    if (kind !== 'fault') return request.subjects.includes(id)
    const entry = causes.at(request.seq)
    return entry !== undefined && hits.has(causes.causeOf(entry)?.seq ?? -1)
  }
  return newest(sim.requests.filter(isMeant))
}

function viewEntry(sim: Simulator, causes: Causes, entry: Entry): ThingView {
  const request = causes.received(entry.seq)
  const cause = causes.causeOf(entry)
  const isRequest = entry.kind === 'request'
  const named = isRequest ? (request?.subjects ?? []) : [entry.subject]
  return {
    ...{ id: String(entry.seq), kind: isRequest ? 'request' : 'entry', sentences: [describeEntry(entry)] },
    entries: [toDescribedEntry(entry, sim)],
    ...{ requests: request === undefined ? [] : [toRequestView(request, sim)], ledger: [] },
    related: [
      ...named.map(id => ({
        ...{ id, kind: findThing(sim, id, causes)?.kind ?? ('other' as const) },
        relation: isRequest ? 'names' : 'is about',
      })),
      ...(cause === undefined ? [] : [{ ...toPosition(cause), relation: 'is caused by' }]),
      ...causes.entries
        .filter(other => causes.causeOf(other)?.seq === entry.seq)
        .slice(0, MAX_LISTED)
        .map(other => ({ ...toPosition(other), relation: 'caused' })),
    ],
  }
}

function toPosition({ seq, kind }: Entry): Pick<Related, 'id' | 'kind'> {
  return { id: String(seq), kind: kind === 'request' ? 'request' : 'entry' }
}

function relatedTo(world: World, kind: ThingKind, id: string): Related[] {
  switch (kind) {
    case 'deployment':
      return relatedToDeployment(world, id)
    case 'instance':
      return relatedToInstance(world, id)
    case 'container': {
      const { node } = world.rentals.findById(id)!
      return node < 0 ? [] : [{ id: world.nodes.read(node).id, kind: 'node', relation: 'runs on' }]
    }
    case 'batch':
      return relatedToBatch(world, id)
    case 'batch_line':
      return [...world.batches.entries()].flatMap(([, { id: batch, work }]) =>
        work?.lines.customIds.includes(id) ? [{ id: batch, kind: 'batch', relation: 'is part of' }] : [],
      )
    case 'file':
      return world.batches.list().flatMap(batch => {
        const { input_file_id, output_file_id, error_file_id } = batch.toRecord()
        const isRead = input_file_id === id
        if (!isRead && output_file_id !== id && error_file_id !== id) return []
        return [{ id: batch.id, kind: 'batch', relation: isRead ? 'is read by' : 'is written by' }]
      })
    case 'node':
      return world.nodes.findById(id)!.tenants.map(tenant => {
        if (tenant < 0)
          return { id: world.rentals.read(toRentalOrdinal(tenant)).id, kind: 'container', relation: 'runs' }
        return { id: world.instances.read(tenant).id, kind: 'instance', relation: 'runs' }
      })
    case 'model':
      return [...world.deployments.entries()].flatMap(([, { id: deployment, plan }]) =>
        plan.modelName === id ? [{ id: deployment, kind: 'deployment', relation: 'is served by' }] : [],
      )
    default:
      return []
  }
}

function relatedToDeployment({ deployments, instances, nodes, batches }: World, id: string): Related[] {
  const row = deployments.findById(id)!
  const { base, modelName } = row.plan
  const own = row.instances.map(instance => instances.read(instance))
  const places = new Set(own.flatMap(({ node }) => (node < 0 ? [] : [nodes.read(node).id])))
  const runs = [...batches.entries()].filter(
    ([, { work, status }]) => work?.model === modelName && status === 'in_progress',
  )
  return [
    ...(base >= 0
      ? [{ id: deployments.read(base).id, kind: 'deployment', relation: 'is an adapter of' } as const]
      : []),
    ...own.map(instance => ({ id: instance.id, kind: 'instance', relation: 'has' }) as const),
    ...[...places].map(node => ({ id: node, kind: 'node', relation: 'runs on' }) as const),
    ...row.adapters.map(
      adapter => ({ id: deployments.read(adapter).id, kind: 'deployment', relation: 'has the adapter' }) as const,
    ),
    ...runs.map(([, batch]) => ({ id: batch.id, kind: 'batch', relation: 'runs' }) as const),
  ]
}

function relatedToInstance({ deployments, instances, nodes }: World, id: string): Related[] {
  for (const [, { id: other, deployment, node }] of instances.entries()) {
    if (other !== id) continue
    return [
      { id: deployments.read(deployment).id, kind: 'deployment', relation: 'is part of' },
      ...(node < 0 ? [] : [{ id: nodes.read(node).id, kind: 'node', relation: 'runs on' } as const]),
    ]
  }
  const deployment = id.slice(0, id.lastIndexOf('-'))
  return deployments.ordinalOf(deployment) === undefined
    ? []
    : [{ id: deployment, kind: 'deployment', relation: 'was part of' }]
}

function relatedToBatch({ batches }: World, id: string): Related[] {
  const { input_file_id, output_file_id, error_file_id } = batches.get(id)!.toRecord()
  const model = batches.modelOf(id)
  return [
    { id: input_file_id, kind: 'file', relation: 'reads' },
    ...[output_file_id, error_file_id].flatMap(file =>
      file === null ? [] : [{ id: file, kind: 'file', relation: 'wrote' } as const],
    ),
    ...(model ? [{ id: model, kind: 'model', relation: 'asks' } as const] : []),
  ]
}
