import * as z from 'zod'
import type { Entry } from '../../../kernel/journal.ts'
import { refuse } from '../../../service/refusals.ts'
import { hideSecretsIn } from '../../../simulator/requests/secrets.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { ServedWorld } from '../../worlds/served-world.ts'
import type { Worlds } from '../../worlds/worlds.ts'
import { control } from '../endpoint.ts'
import { requireSnapshot, requireWorld } from '../endpoints/require.ts'
import { DescribedEntrySchema, toDescribedEntry } from '../journal-view.ts'
import * as worldDifferences from './world-differences.ts'

const SideSchema = DescribedEntrySchema.nullable()

export const compareWorlds = control({
  route: 'GET /_sim/differences',
  summary:
    'Compare this world (`after`) with another one (`before`): states, nodes, money, counts and requests that ' +
    'differ, and the first journal entry that differs. The other world is the world `with`, or a `snapshot` of this ' +
    'one, or with `fresh=true` this one at its start. If one is a fork of the other, only requests since then count',
  example: { target: '/_sim/differences?with=default' },
  refusals: { 400: 'not one of with, snapshot and fresh', 404: 'an unknown world or snapshot' },
  query: { with: z.string().optional(), snapshot: z.string().optional(), fresh: z.literal('true').optional() },
  returns: z.object({
    world: z.string(),
    with: z.string().describe('The other world, the snapshot, or `start`'),
    equal: z.boolean().describe('Whether digest and time are the same'),
    same_time: z.boolean(),
    differences: z.array(
      z.object({
        kind: z
          .enum(['state', 'money', 'count', 'request', 'time'])
          .describe('request: how often clients called an operation and got a status'),
        subject: z.string().describe('An id, or what is counted'),
        before: z.string(),
        after: z.string(),
      }),
    ),
    requests_compared: z
      .boolean()
      .describe('false if requests before a fork cannot be distinguished from those after it'),
    diverged: z
      .object({
        time: z.int().describe('Microseconds since the epoch of the world'),
        at: z.string().describe('The time as ISO 8601'),
        before: SideSchema.describe('null if the other world has no further entry'),
        after: SideSchema,
      })
      .nullable()
      .describe('null if the journals agree at the times that both have'),
  }),
  handle: async ({ query, sim, worlds }) => {
    const own = worlds.findBySimulator(sim)
    await using other = await beforeOf(query, sim, own, worlds)
    const { divergence, ...compared } = worldDifferences.compareWorlds(other.sim, sim, other.lastShared)
    const toSide = (of: Simulator, entry: Entry | undefined) =>
      entry === undefined ? null : toDescribedEntry(entry, of)
    const time = divergence && Math.min(...[divergence.before, divergence.after].flatMap(entry => entry?.time ?? []))
    return hideSecretsIn(other.sim, {
      ...{ world: own?.name ?? '', with: other.name, ...compared },
      diverged:
        divergence === undefined || time === undefined
          ? null
          : {
              ...{ time, at: sim.world.clock.iso(time) },
              before: toSide(other.sim, divergence.before),
              after: toSide(sim, divergence.after),
            },
    })
  },
})

interface Before extends AsyncDisposable {
  readonly name: string
  readonly sim: Simulator
  /** The newest entry of the compared world that came before a snapshot of it. */
  readonly lastShared?: worldDifferences.LastShared
}

/** Returns what a world is compared with: another world, a copy that continues from a snapshot, or one at the start. */
async function beforeOf(
  { with: other, snapshot, fresh }: { readonly [name in 'with' | 'snapshot' | 'fresh']?: string | undefined },
  sim: Simulator,
  own: ServedWorld | undefined,
  worlds: Worlds,
): Promise<Before> {
  if ([other, snapshot, fresh].filter(given => given !== undefined).length !== 1 || own === undefined) {
    refuse(
      400,
      'Failed to compare: give one of with, snapshot and fresh=true. GET /_sim/worlds and GET /_sim/snapshots list them.',
    )
  }
  if (other !== undefined) {
    const world = requireWorld(worlds, other)
    await world.sim.clock.catchUp()
    return { name: world.name, sim: world.sim, async [Symbol.asyncDispose]() {} }
  }
  const saved = snapshot === undefined ? undefined : requireSnapshot(own, snapshot)
  const copy = sim.fork({ clock: 'manual', fresh: saved === undefined })
  if (saved !== undefined) copy.restore(saved.forServer('manual'))
  return {
    name: snapshot ?? 'start',
    sim: copy,
    lastShared:
      saved?.state.world.journal.lastBeforeFork(sim.world.journal) ??
      // A fork can have the requests that came before it, which a fresh copy of it has not.
      (own.forkOf === undefined ? 0 : 'unknown'),
    [Symbol.asyncDispose]: () => copy[Symbol.asyncDispose](),
  }
}
