import * as z from 'zod'
import type { Simulator } from '../../../simulator/simulator.ts'
import { control } from '../endpoint.ts'

const CommandSchema = z.object({ verb: z.string(), target: z.string().optional() })

export const getWeather = control({
  route: 'GET /_sim/weather',
  summary:
    'Return the weather of the world: how often each kind of failure happens, and which failures are active now, ' +
    'each with the command that undoes it. `packs` lists the values of the option `weather` of a world',
  returns: z.object({
    pack: z.string().describe('none: no weather'),
    packs: z.array(z.string()).describe('For the option weather of POST /_sim/worlds'),
    profile: z.string(),
    kinds: z.array(
      z.object({
        kind: z.string(),
        places: z.int().describe('Nodes, zones or GPU types that it can strike; 1 for a service of the provider'),
        strikes_per_hour: z.number().describe('Of all places together'),
        strikes: z.int().describe('So far'),
        active: z.array(z.object({ place: z.string(), undo: CommandSchema })).describe('What it has struck now'),
      }),
    ),
  }),
  handle: ({ sim }) => {
    const { name, weather } = sim.world.profile
    return { pack: weather.pack, packs: ['none', ...Object.keys(weather.packs)], profile: name, kinds: kindsOf(sim) }
  },
})

function kindsOf({ world }: Simulator) {
  const kinds = new Map<string, { places: number; strikes_per_hour: number; strikes: number; active: Active[] }>()
  for (const [, { kind, place, strikesPerHour, strikeCount, undo }] of world.weather.entries()) {
    const known = kinds.get(kind) ?? { places: 0, strikes_per_hour: 0, strikes: 0, active: [] }
    kinds.set(kind, known)
    known.places++
    known.strikes_per_hour += strikesPerHour
    known.strikes += strikeCount
    if (undo === undefined) continue
    const { verb, target } = undo
    known.active.push({ place, undo: { verb, ...(target !== undefined && { target }) } })
  }
  return Array.from(kinds, ([kind, figures]) => ({ kind, ...figures }))
}

type Active = { place: string; undo: z.input<typeof CommandSchema> }
