import * as z from 'zod'
import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { rowsOf } from '../../../service/fields.ts'
import { refuse } from '../../../service/refusals.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { repetitionsOf, type TimelineLibrary, type TimelinePlan } from '../../../simulator/timelines.ts'
import { type ControlScope, control, refuseInvalid } from '../endpoint.ts'
import * as openRecording from './open-recording.ts'

const EXAMPLE = 'hub-outage'
/** How many steps of a run are listed. */
const MAX_STEPS = 500
const UNKNOWN_SCENARIO = { 404: 'an unknown name, or a scenario that is neither YAML nor JSON' } as const

const ScenarioView = z.object({
  name: z.string(),
  title: z.string().nullable(),
  state: z
    .enum(['ready', 'playing', 'done', 'stopped', 'unplayable'])
    .describe('ready: it can be started; unplayable: problems has the reasons'),
  done: z.int().describe('Number of steps that are due or past'),
  of: z.int().nullable().describe('Number of all steps; null if one repeats without end'),
  started_at: z.string().nullable(),
  next_at: z.string().nullable().describe('Time of the next step'),
  problems: z.array(z.string()).describe('Steps that are not played, with their reasons, and commands that failed'),
})

export const listScenarios = control({
  route: 'GET /_sim/scenarios',
  summary: 'List the scenarios in YAML and JSON of the server (`serve --scenarios`), with their progress in this world',
  returns: z.array(ScenarioView),
  handle: ({ sim, library }) => Promise.all(library.names().map(name => toScenarioView(sim, library, name))),
})

export const getScenario = control({
  route: 'GET /_sim/scenarios/{name}',
  summary: 'Return a scenario: whether its timeline can be played in this world, and its progress',
  example: { target: `/_sim/scenarios/${EXAMPLE}` },
  refusals: UNKNOWN_SCENARIO,
  returns: ScenarioView,
  handle: ({ params, sim, library }) => toScenarioView(sim, library, requireName(library, params.name)),
})

export const startScenario = control({
  route: 'POST /_sim/scenarios/{name}/start',
  summary:
    'Start the timeline of a scenario in this world: its commands and fault rules, each at its time from now. ' +
    'The requests of the scenario are not played; the client of the world makes its own',
  example: { target: `/_sim/scenarios/${EXAMPLE}/start` },
  refusals: {
    ...UNKNOWN_SCENARIO,
    400: 'an invalid file, a scenario without a timeline, or a target or rule that is invalid in this world',
    409: 'it is already playing',
  },
  returns: ScenarioView,
  handle: async ({ params, sim, library, actAsRequest }) => {
    const name = requireName(library, params.name)
    const plan = await refuseInvalid(() => library.read(name))
    // No other request may run between this check and the start.
    if (sim.timelines.isPlaying(name)) {
      refuse(409, `Failed to start '${name}': it is already playing. DELETE /_sim/scenarios/${name} stops it.`)
    }
    await refuseInvalid(() => {
      const reason = unplayableReason(plan)
      if (reason !== undefined) refuse(400, `Failed to start '${name}': ${reason}`)
      actAsRequest(() => sim.timelines.start(plan))
    })
    return toScenarioView(sim, library, name)
  },
})

export const runScenario = control({
  route: 'POST /_sim/scenarios/{name}/run',
  summary:
    'Run a scenario in YAML or JSON whole, in a world of its own with its own seed: its requests, checks and trace, ' +
    'as `modelhost-sim run` does. With `open`, a further world of the server has this run, and its past',
  example: { target: `/_sim/scenarios/${EXAMPLE}/run`, body: { open: true } },
  refusals: { ...UNKNOWN_SCENARIO, 400: 'an invalid file, or a scenario that plays a client', 429: 'too many worlds' },
  body: z.strictObject({ open: z.boolean().optional() }).optional(),
  returns: z.object({
    name: z.string(),
    title: z.string(),
    passed: z.boolean(),
    failure: z.string().nullable().describe('Why it failed'),
    line: z.int().nullable().describe('The line of its file at which it failed, if that is known'),
    checks: z.int().describe('How many checks held'),
    seed: z.string(),
    seconds: z.number().describe('Simulated time of the run'),
    wall_ms: z.number().describe('Real milliseconds'),
    digest: z.string().describe('Of its world at the end: equal for each run'),
    steps: rowsOf({ at: z.string().describe('The time of its world as ISO 8601'), text: z.string() }).describe(
      'What its script did, at most the first 500 steps',
    ),
    world: z.string().nullable().describe('The world that open made'),
  }),
  handle: async ({ params, body, library, ...scope }) => {
    const name = requireName(library, params.name)
    const run = await refuseInvalid(() => library.run(name))
    const { recording } = run
    const opened =
      body?.open === true && recording !== undefined
        ? await openRecording.openRecordingText(scope, recording, `of the scenario '${name}'`)
        : undefined
    return {
      ...{ name, title: run.title, passed: run.passed, failure: run.failure ?? null, line: run.line ?? null },
      ...{ checks: run.checks, seed: run.seed, seconds: run.elapsed / 1e6, wall_ms: run.wallMs, digest: run.digest },
      steps: run.steps.slice(0, MAX_STEPS),
      world: opened?.world ?? null,
    }
  },
})

export const stopScenario = control({
  route: 'DELETE /_sim/scenarios/{name}',
  summary:
    'Stop a scenario: cancel its scheduled commands and remove its fault rules. The effects of executed commands stay. ' +
    'A scenario that is not playing does not change',
  example: { target: `/_sim/scenarios/${EXAMPLE}` },
  refusals: UNKNOWN_SCENARIO,
  returns: ScenarioView,
  handle: ({ params, sim, library, actAsRequest }) => {
    const name = requireName(library, params.name)
    actAsRequest(() => sim.timelines.stop(name))
    return toScenarioView(sim, library, name)
  },
})

function requireName(library: TimelineLibrary, name: string): string {
  const names = library.names()
  if (names.includes(name)) return name
  const fallbackHint =
    names.length === 0
      ? 'Start the server with --scenarios and a folder of scenarios.'
      : 'GET /_sim/scenarios lists them.'
  return refuse(
    404,
    `Failed to find the scenario '${name.slice(0, 100)}': unknown name among the scenarios in YAML and JSON. ` +
      formatSuggestion(name, names, fallbackHint),
  )
}

/** Returns why a scenario has nothing to play; undefined if it has something. */
function unplayableReason({ acts, problems }: TimelinePlan): string | undefined {
  if (acts.length > 0) return undefined
  const why = problems.length === 0 ? '' : ` ${problems.join(' ')}`
  return `it has no timeline, which is faults at times that are known in advance.${why} Add some, as in at: { 5m: [{ fault: … }] }.`
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
    const times = { started_at: toIso(startedAt), next_at: toIso(nextAt) }
    return { name, title, state, done, of, ...times, problems: [...problems] }
  }
  const notStarted = { name, done: 0, of: null, started_at: null, next_at: null }
  try {
    const plan = await library.read(name)
    const reason = unplayableReason(plan)
    const of = plan.acts.reduce((sum, act) => sum + repetitionsOf(act), 0)
    const problems = reason === undefined ? [...plan.problems] : [`Not played: ${reason}`]
    const state = reason === undefined ? 'ready' : 'unplayable'
    return { ...notStarted, title: plan.title, state, of: Number.isFinite(of) ? of : null, problems }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { ...notStarted, title: null, state: 'unplayable', problems: [error.message] }
  }
}
