import * as z from 'zod'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { refuse } from '../../service/endpoint.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { repetitionsOf, type TimelineLibrary, type TimelinePlan } from '../../simulator/timelines.ts'
import { CONTROL_PROVENANCE, type ControlScope, control, refuseInvalid } from '../endpoint.ts'

const EXAMPLE = 'hub-outage'
const UNKNOWN_SCENARIO = { 404: 'no scenario of that name in YAML or JSON' } as const

const ScenarioView = z.object({
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
  ...CONTROL_PROVENANCE,
  route: 'GET /_sim/scenarios',
  summary:
    'The scenarios in YAML and JSON that the server knows (serve --scenarios), each with where it is in this world',
  returns: z.array(ScenarioView),
  handle: ({ sim, library }) => Promise.all(library.names().map(name => toScenarioView(sim, library, name))),
})

export const getScenario = control({
  ...CONTROL_PROVENANCE,
  route: 'GET /_sim/scenarios/{name}',
  summary: 'One scenario: whether its timeline can be played in this world, and how far it has come',
  example: { target: `/_sim/scenarios/${EXAMPLE}` },
  refusals: UNKNOWN_SCENARIO,
  returns: ScenarioView,
  handle: ({ params, sim, library }) => toScenarioView(sim, library, requireName(library, params.name)),
})

export const startScenario = control({
  ...CONTROL_PROVENANCE,
  route: 'POST /_sim/scenarios/{name}/start',
  summary:
    'Play the timeline of a scenario in this world from now on, beside whoever uses it: its verbs and rules of faults, ' +
    'each at its moment. What the client of the scenario does is left to the client of the world',
  example: { target: `/_sim/scenarios/${EXAMPLE}/start` },
  refusals: {
    ...UNKNOWN_SCENARIO,
    400: 'a file with a mistake in it, one without a timeline, a target or a rule that makes no sense in this world',
    409: 'it plays already',
  },
  returns: ScenarioView,
  handle: async ({ params, sim, library }) => {
    const name = requireName(library, params.name)
    const plan = await refuseInvalid(() => library.read(name))
    // Nothing may come between this look and the start.
    if (sim.timelines.isPlaying(name)) {
      refuse(409, `Failed to start '${name}': it plays already. DELETE /_sim/scenarios/${name} stops it.`)
    }
    await refuseInvalid(() => {
      const reason = unplayableReason(plan)
      if (reason !== undefined) refuse(400, `Failed to start '${name}': ${reason}`)
      sim.timelines.start(plan)
    })
    return toScenarioView(sim, library, name)
  },
})

export const stopScenario = control({
  ...CONTROL_PROVENANCE,
  route: 'DELETE /_sim/scenarios/{name}',
  summary:
    'Stop a scenario: what it has planned is taken back and its rules of faults are removed; what was done to the world ' +
    'stays. One that does not play is left as it is',
  example: { target: `/_sim/scenarios/${EXAMPLE}` },
  refusals: UNKNOWN_SCENARIO,
  returns: ScenarioView,
  handle: ({ params, sim, library }) => {
    const name = requireName(library, params.name)
    sim.timelines.stop(name)
    return toScenarioView(sim, library, name)
  },
})

function requireName(library: TimelineLibrary, name: string): string {
  const names = library.names()
  if (names.includes(name)) return name
  const fallbackHint =
    names.length === 0
      ? 'Start the server with --scenarios and a folder that holds some.'
      : 'GET /_sim/scenarios lists them.'
  return refuse(
    404,
    `Failed to find the scenario '${name.slice(0, 100)}': there is none of that name in YAML or JSON. ` +
      formatSuggestion(name, names, fallbackHint),
  )
}

/** Why there is nothing of a scenario to play; undefined where there is. */
function unplayableReason({ acts, problems }: TimelinePlan): string | undefined {
  if (acts.length > 0) return undefined
  const why = problems.length === 0 ? '' : ` ${problems.join(' ')}`
  return `it has no timeline: no fault with a moment that is known beforehand.${why} Give it some, as in at: { 5m: [{ fault: … }] }.`
}

async function toScenarioView(
  sim: Simulator,
  library: ControlScope['library'],
  name: string,
): Promise<z.input<typeof ScenarioView>> {
  const view = sim.timelines.get(name)
  const toIso = (at: number | undefined) => (at === undefined ? null : sim.world.clock.iso(at))
  if (view !== undefined) {
    const { title, state, done, total: of = null, startedAt, nextAt, problems } = view
    return {
      name,
      title,
      state,
      done,
      of,
      started_at: toIso(startedAt),
      next_at: toIso(nextAt),
      problems: [...problems],
    }
  }
  const notStarted = { name, done: 0, of: null, started_at: null, next_at: null }
  try {
    const plan = await library.read(name)
    const reason = unplayableReason(plan)
    const of = plan.acts.reduce((sum, act) => sum + repetitionsOf(act), 0)
    const problems = reason === undefined ? [...plan.problems] : [`Not played: ${reason}`]
    return {
      ...notStarted,
      title: plan.title,
      state: reason === undefined ? 'ready' : 'unplayable',
      of: Number.isFinite(of) ? of : null,
      problems,
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { ...notStarted, title: null, state: 'unplayable', problems: [error.message] }
  }
}
