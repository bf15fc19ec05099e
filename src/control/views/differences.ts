import * as z from 'zod'
import * as worldDifferences from '../../evidence/views/world-differences.ts'
import type { Entry } from '../../kernel/journal.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { CONTROL_PROVENANCE, control } from '../endpoint.ts'
import { tokenRedactor } from '../token-redactor.ts'
import { requireWorld } from '../worlds/require-world.ts'
import { DescribedEntrySchema, toDescribedEntry } from './described-entry.ts'

const SideSchema = DescribedEntrySchema.nullable()

export const compareWorlds = control({
  ...CONTROL_PROVENANCE,
  route: 'GET /_sim/differences',
  summary:
    'Compare this world (after) with another one (before), which with names: states, nodes, money and counts that differ, ' +
    'and the first journal entry with which they went apart',
  example: { target: '/_sim/differences?with=default' },
  refusals: { 404: 'an unknown world' },
  query: { with: z.string() },
  returns: z.object({
    world: z.string(),
    with: z.string(),
    equal: z.boolean().describe('Whether digest and time are the same'),
    same_time: z.boolean(),
    differences: z.array(
      z.object({
        kind: z.enum(['state', 'money', 'count', 'time']),
        subject: z.string().describe('An id, or what is counted'),
        before: z.string(),
        after: z.string(),
      }),
    ),
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
    const other = requireWorld(worlds, query.with)
    await other.sim.clock.catchUp()
    const { isEqual, hasSameTime, differences, divergence } = worldDifferences.compareWorlds(other.sim, sim)
    const redact = (text: string) => tokenRedactor(sim)(tokenRedactor(other.sim)(text))
    const toSide = (of: Simulator, entry: Entry | undefined) =>
      entry === undefined ? null : toDescribedEntry(entry, of, redact)
    const time = divergence && Math.min(...[divergence.before, divergence.after].flatMap(entry => entry?.time ?? []))
    return {
      ...{ world: worlds.findBySimulator(sim)?.name ?? '', with: other.name, equal: isEqual, same_time: hasSameTime },
      differences: differences.map(difference => ({ ...difference, subject: redact(difference.subject) })),
      diverged:
        divergence === undefined || time === undefined
          ? null
          : {
              ...{ time, at: sim.world.clock.iso(time) },
              before: toSide(other.sim, divergence.before),
              after: toSide(sim, divergence.after),
            },
    }
  },
})
