import * as z from 'zod'
import { eventLoopTurn, monotonicMs } from '../../../lib/real-time.ts'
import { inSlices } from '../../../lib/slices.ts'
import { orNull } from '../../../service/fields.ts'
import { refuse } from '../../../service/refusals.ts'
import { Bytes } from '../../../service/results.ts'
import * as scenarios from '../../../simulator/history/export/scenario.ts'
import { parseRecording, withEndpoints } from '../../../simulator/history/file.ts'
import type { StepLines } from '../../../simulator/history/lines.ts'
import type { Past } from '../../../simulator/history/past/past.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { control, refuseInvalid, requirePast } from '../endpoint.ts'
import * as recordings from '../endpoints/open-recording.ts'

/** Longest real time that the start of a past waits for the end of requests, in milliseconds. */
const WAIT_LIMIT_MS = 500

const CheckpointSchema = z.object({
  time: z.int().describe('Microseconds since the epoch of the world'),
  at: z.string().describe('The time as ISO 8601'),
  entry: z.int().describe('Position of the newest journal entry then'),
  inputs: z.int().describe('Requests and actions before it'),
})

const PastSchema = z.object({
  kept: z.boolean(),
  waiting: z.boolean().describe('Whether it begins only when the requests in progress have ended'),
  kept_part: orNull({
    from: z.string().describe('The earliest time that one can go back to, ISO 8601'),
    from_time: z.int().describe('The same in microseconds since the epoch of the world'),
    to: z.string().describe('Now'),
    to_time: z.int(),
    from_start: z.boolean().describe('Whether it begins with the world, as its options made it'),
    first_entry: z.int().describe('The first journal entry that one can go back to'),
    last_entry: z.int(),
    inputs: z.int().describe('Requests and actions in it'),
    dropped_inputs: z.int().describe('Those of the oldest part, which is dropped'),
    bytes: z.int(),
    checkpoints: z.array(CheckpointSchema).describe('Moments that need no replay, oldest first'),
  }).describe('null if it is not kept, or waits'),
})

export const getPast = control({
  route: 'GET /_sim/past',
  summary:
    'Return which part of the past of the world is kept, for `POST /_sim/worlds` with `at`, `entry`, `after_request` ' +
    'or `before_request`',
  returns: PastSchema,
  handle: ({ sim, pasts }) => toPastJson(sim, pasts.of(sim)),
})

export const keepPast = control({
  route: 'POST /_sim/past',
  summary:
    'Keep the past of the world from now on, in memory: every request and command, and checkpoints. At 64 MiB, the oldest ' +
    'part is dropped. After a reset and a restore, it begins again. It contains prompts',
  refusals: { 409: 'requests are in progress, or a replay drives the world' },
  returns: PastSchema,
  handle: async ({ sim, pasts }) => {
    const deadline = monotonicMs() + WAIT_LIMIT_MS
    while (pasts.of(sim) === undefined && sim.openRequests > 0 && monotonicMs() < deadline) await eventLoopTurn()
    return toPastJson(sim, await refuseInvalid(() => pasts.keep(sim), 409))
  },
})

export const forgetPast = control({
  route: 'DELETE /_sim/past',
  summary: 'Forget the past of the world, and keep it no longer',
  returns: PastSchema,
  handle: ({ sim, pasts }) => {
    pasts.forget(sim)
    return toPastJson(sim, undefined)
  },
})

export const getPastRecording = control({
  route: 'GET /_sim/past/recording',
  summary:
    'Return the past of the world as a recording, for the command `replay`. It ' +
    'contains every request with its body; hashes replace credentials',
  refusals: { 409: 'the past is not kept, or waits for requests in progress' },
  produces: 'application/x-ndjson; charset=utf-8',
  returns: z.string(),
  handle: async ({ sim, pasts }) => {
    const past = requirePast(pasts, sim, 'return the recording')
    const text = await refuseInvalid(() => inSlices(past.recording()), 409)
    return new Bytes([new TextEncoder().encode(text)], { filename: 'past.ndjson' })
  },
})

export const getPastScenario = control({
  route: 'GET /_sim/past/scenario',
  summary:
    'Return the past of the world as a scenario, in YAML or TypeScript: its requests with their statuses, commands ' +
    'and fault rules. With `only=actions`, requests of clients are left out. The command `run --update` writes its ' +
    'trace',
  example: { target: '/_sim/past/scenario?only=actions' },
  refusals: {
    400: 'a past that no scenario can play, or in which nothing happened',
    409: 'the past is not kept, or waits for requests in progress',
  },
  produces: 'text/plain; charset=utf-8',
  query: { format: z.enum(['yaml', 'typescript']).default('yaml'), only: z.enum(['actions']).optional() },
  returns: z.string(),
  handle: async ({ query: { format, only }, sim, pasts }) => {
    const past = requirePast(pasts, sim, 'return the scenario')
    const text = await refuseInvalid(() => inSlices(past.recording(only && isActionOrEnd)), 409)
    const what = 'the past'
    const recording = withEndpoints(parseRecording(text, what), sim.options.endpoints)
    const scenario = await refuseInvalid(() => scenarios.toScenario(recording, { format, what }))
    return new Bytes([new TextEncoder().encode(scenario)])
  },
})

function toPastJson({ world }: Simulator, past: Past | undefined): z.input<typeof PastSchema> {
  const state = past?.state
  const kept = past !== undefined
  if (state === undefined) return { kept, waiting: kept, kept_part: null }
  const { clock, journal } = world
  return {
    ...{ kept, waiting: false },
    kept_part: {
      ...{ from: clock.iso(state.from), from_time: state.from, to: clock.iso(state.to), to_time: state.to },
      ...{ from_start: state.isFromStart, first_entry: state.entry + 1, last_entry: journal.last },
      ...{ inputs: state.inputs, dropped_inputs: state.droppedInputs, bytes: state.bytes },
      checkpoints: state.checkpoints.map(({ at: [time], entry, inputs }) => ({
        ...{ time, at: clock.iso(time), entry, inputs },
      })),
    },
  }
}

function isActionOrEnd(line: StepLines): boolean {
  return 'action' in line || 'digest' in line
}

export const savePage = control({
  route: 'GET /_sim/page',
  summary:
    'Return one HTML file that runs the past of the world again when it is opened, without a server. It contains every ' +
    'request with its body; hashes replace credentials',
  refusals: { 409: 'the past is not kept, or waits for requests in progress', 501: 'this host cannot write pages' },
  produces: 'application/octet-stream',
  returns: z.string(),
  handle: async ({ sim, worlds, pasts, writePage }) => {
    if (writePage === undefined) {
      refuse(501, "Failed to save a page: this host has no parts of pages. Start a server with 'modelhost-sim serve'.")
    }
    const past = requirePast(pasts, sim, 'save a page')
    const name = worlds.findBySimulator(sim)?.name ?? 'world'
    const recording = await refuseInvalid(() => inSlices(past.recording()), 409)
    const worldsOfPage = [{ title: `the world '${name}'`, recording }]
    const page = await writePage({ title: `The world '${name}' at ${sim.clock.iso}`, worlds: worldsOfPage })
    // As bytes with a name: a browser must not run it with the rights of this address.
    return new Bytes([new TextEncoder().encode(page)], { filename: `${name}.html` })
  },
})

export const openRecording = control({
  route: 'POST /_sim/recordings',
  summary:
    'Create a world that runs a recording again, up to its end or to the first answer that differs. Its past is kept from ' +
    'the start. Webhooks of the recording are not sent again',
  example: { body: { recording: 'the text of a file of serve --record' } },
  refusals: { 400: 'a text that is not a recording of this version, or names a file', 429: 'too many worlds' },
  body: z.strictObject({ recording: z.string() }),
  returns: z.object({
    world: z.string(),
    now: z.string(),
    lines: z.int().describe('How many lines were performed'),
    problem: z.string().nullable().describe('Where it differs from the recording, or where the recording is cut'),
  }),
  handle: ({ body, ...scope }) => recordings.openRecordingText(scope, body.recording, 'that was sent'),
})
