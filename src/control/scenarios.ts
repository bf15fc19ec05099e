import * as z from 'zod'
import { refuse } from '../api/endpoint.ts'
import { nearest } from '../kernel/nearest.ts'
import type { Simulator } from '../simulator.ts'
import { type TimelineLibrary, type TimelinePlan, timesOf } from '../timelines.ts'
import { attempt, type ControlScope, control, OURS } from './endpoint.ts'

const EXAMPLE = 'hub-outage'
const UNKNOWN = { 404: 'no scenario of that name in YAML or JSON' } as const

const Played = z.object({
  name: z.string(),
  title: z.string().nullable(),
  state: z
    .enum(['ready', 'playing', 'done', 'stopped', 'unplayable'])
    .describe('unplayable: problems says why; ready: it can be started'),
  done: z.int().describe('Steps whose moment has come'),
  of: z.int().nullable().describe('Steps in all; null when one is repeated for ever'),
  started_at: z.string().nullable(),
  next_at: z.string().nullable().describe('When the next step comes'),
  problems: z.array(z.string()).describe('What of it is not played, and why; commands that could not be obeyed'),
})

export const listScenarios = control({
  ...OURS,
  route: 'GET /_sim/scenarios',
  summary:
    'The scenarios in YAML and JSON that the server knows (serve --scenarios), each with where it is in this world',
  returns: z.array(Played),
  handle: ({ sim, library }) => Promise.all(library.names().map(name => shown(sim, library, name))),
})

export const getScenario = control({
  ...OURS,
  route: 'GET /_sim/scenarios/{name}',
  summary: 'One scenario: whether its timeline can be played in this world, and how far it has come',
  example: { target: `/_sim/scenarios/${EXAMPLE}` },
  refusals: UNKNOWN,
  returns: Played,
  handle: ({ params, sim, library }) => shown(sim, library, known(library, params.name)),
})

export const startScenario = control({
  ...OURS,
  route: 'POST /_sim/scenarios/{name}/start',
  summary:
    'Play the timeline of a scenario in this world from now on, beside whoever uses it: its verbs and rules of faults, ' +
    'each at its moment. What the client of the scenario does is left to the client of the world',
  example: { target: `/_sim/scenarios/${EXAMPLE}/start` },
  refusals: {
    ...UNKNOWN,
    400: 'a file with a mistake in it, one without a timeline, a target or a rule that makes no sense in this world',
    409: 'it plays already',
  },
  returns: Played,
  handle: async ({ params, sim, library }) => {
    const name = known(library, params.name)
    const plan = await attempt(() => library.read(name))
    // Nothing may come between this look and the start.
    if (sim.timelines.isPlaying(name)) {
      refuse(409, `Failed to start '${name}': it plays already. DELETE /_sim/scenarios/${name} stops it.`)
    }
    await attempt(() => {
      const why = unplayable(plan)
      if (why !== undefined) refuse(400, `Failed to start '${name}': ${why}`)
      sim.timelines.start(plan)
    })
    return shown(sim, library, name)
  },
})

export const stopScenario = control({
  ...OURS,
  route: 'DELETE /_sim/scenarios/{name}',
  summary:
    'Stop a scenario: what it has planned is taken back and its rules of faults are removed; what was done to the world ' +
    'stays. One that does not play is left as it is',
  example: { target: `/_sim/scenarios/${EXAMPLE}` },
  refusals: UNKNOWN,
  returns: Played,
  handle: ({ params, sim, library }) => {
    const name = known(library, params.name)
    sim.timelines.stop(name)
    return shown(sim, library, name)
  },
})

function known(library: TimelineLibrary, name: string): string {
  const names = library.names()
  if (names.includes(name)) return name
  const meant = nearest(name, names)
  const otherwise =
    names.length === 0
      ? 'Start the server with --scenarios and a folder that holds some.'
      : 'GET /_sim/scenarios lists them.'
  return refuse(
    404,
    `Failed to find the scenario '${name.slice(0, 100)}': there is none of that name in YAML or JSON. ` +
      (meant === undefined ? otherwise : `Did you mean '${meant}'?`),
  )
}

/** Why there is nothing of a scenario to play; undefined where there is. */
function unplayable({ acts, problems }: TimelinePlan): string | undefined {
  if (acts.length > 0) return undefined
  const why = problems.length === 0 ? '' : ` ${problems.join(' ')}`
  return `it has no timeline: no fault with a moment that is known beforehand.${why} Give it some, as in at: { 5m: [{ fault: … }] }.`
}

async function shown(sim: Simulator, library: ControlScope['library'], name: string): Promise<z.input<typeof Played>> {
  const view = sim.timelines.get(name)
  const time = (at: number | undefined) => (at === undefined ? null : sim.world.clock.iso(at))
  if (view !== undefined) {
    const { title, state, done, of = null, startedAt, nextAt, problems } = view
    return { name, title, state, done, of, started_at: time(startedAt), next_at: time(nextAt), problems: [...problems] }
  }
  const waiting = { name, done: 0, of: null, started_at: null, next_at: null }
  try {
    const plan = await library.read(name)
    const why = unplayable(plan)
    const of = plan.acts.reduce((sum, act) => sum + timesOf(act), 0)
    const problems = why === undefined ? [...plan.problems] : [`Not played: ${why}`]
    return {
      ...waiting,
      title: plan.title,
      state: why === undefined ? 'ready' : 'unplayable',
      of: Number.isFinite(of) ? of : null,
      problems,
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { ...waiting, title: null, state: 'unplayable', problems: [error.message] }
  }
}
