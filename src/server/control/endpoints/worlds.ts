import * as z from 'zod'
import { micros } from '../../../kernel/duration.ts'
import { fieldsOf, given } from '../../../lib/fields.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { orNull } from '../../../service/fields.ts'
import { refuse } from '../../../service/refusals.ts'
import { JsonText } from '../../../service/results.ts'
import { isDuration } from '../../../simulator/faults/kinds/fields.ts'
import type { Moment } from '../../../simulator/history/past/checkpoint.ts'
import type { Pasts } from '../../../simulator/history/past/pasts.ts'
import {
  assertOptions,
  fromHttpFields,
  httpFieldsBesideSnapshot,
  type OptionFields,
} from '../../../simulator/option-fields.ts'
import { OPTION_HTTP_FIELDS } from '../../../simulator/option-schemas.ts'
import type { SimulatorOptions } from '../../../simulator/options.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { ServedWorld } from '../../worlds/served-world.ts'
import type { WorldSpec } from '../../worlds/worlds.ts'
import { control, makeWorldWith, refuseInvalid, requirePast, requireSnapshot, requireWorld } from '../endpoint.ts'
import { ClockModeSchema, clockModeOf, PendingRequestSchema, pendingRequestsOf } from '../world-view.ts'

const WorldSummary = z.object({
  world: z.string(),
  token: z.string().nullable().describe('The end of its first token for the root address'),
  base_url: z.string().describe('The address of its API; its control plane is below _sim'),
  ...fieldsOf(z.string(), 'fixtures', 'seed', 'now'),
  requests: z.int(),
  idle_seconds: z.number().describe('Real seconds since its last request'),
  fork_of: orNull({ world: z.string(), at: z.string().describe('Its time when it was made, ISO 8601') }).describe(
    'The world that it was forked from',
  ),
})

const WorldDetails = WorldSummary.extend({
  profile: z.string(),
  clock: ClockModeSchema,
  waiting: z.array(PendingRequestSchema),
  digest: z.string(),
  age_seconds: z.number().describe('Real seconds since its creation'),
  counts: z.object({ deployments: z.int(), batches: z.int(), stored_bytes: z.int(), events: z.int() }),
})

export const createWorld = control({
  route: 'POST /_sim/worlds',
  summary:
    'Create a world: an account with its own clock, seed, journal and limits. Default of each option: as the server ' +
    'was started. `from` names the world to fork. `snapshot` names the snapshot to continue from, of that world or ' +
    'of the default world. Options that a snapshot does not contain may go with it. To make a world as `from` was at ' +
    'a moment of its past, give one of four fields. `at` is a time, and `entry` is the `seq` of a journal entry. ' +
    '`after_request` and `before_request` are the `seq` of a request. The past of `from` must be kept, and the clock of ' +
    'the new world is manual. If the past of `from` is kept, that of the new world is too. `token` is an alias of its ' +
    'first token',
  example: { body: { fixtures: 'two-nodes', seed: 7, clock: 'manual' } },
  maxBodyValues: LIMITS.worldBodyValues,
  refusals: {
    400: 'an invalid option; a token of another world; an option that the origin or the snapshot sets; no such past',
    404: 'an unknown world in from, or an unknown snapshot',
    409: 'the past of the origin is not kept',
    429: 'too many worlds',
  },
  body: z
    .strictObject({
      ...OPTION_HTTP_FIELDS,
      ...fieldsOf(z.string().optional(), 'from', 'snapshot', 'at'),
      ...fieldsOf(z.int().optional(), 'entry', 'after_request', 'before_request'),
      token: z
        .string()
        .regex(/^[A-Za-z0-9_-]{1,200}$/, 'should be 1 to 200 letters, digits, dashes and underscores')
        .optional(),
    })
    .optional(),
  returns: z.object({ world: z.string(), token: z.string().nullable(), base_url: z.string() }),
  handle: async ({ body = {}, worlds, pasts, request }) => {
    const { clock, from, snapshot, token } = body
    assertServerClockMode(clock)
    const options = await refuseInvalid(() => toOptions(body))
    assertNoInheritedFields(body)
    const origin = from === undefined ? undefined : requireWorld(worlds, from)
    const moment = readMoment(origin, body)
    const savedSnapshot = snapshot === undefined ? undefined : requireSnapshot(origin ?? worlds.default, snapshot)
    await origin?.sim.clock.catchUp()
    const clockSetting = clock as WorldSpec['clock']
    const world =
      origin !== undefined && moment !== undefined
        ? await makeWorldWith(worlds, pastCreator(pasts, origin, moment, clockSetting), { alias: token, from: origin })
        : await refuseInvalid(() =>
            worlds.make({
              ...given({ options, from: origin, snapshot: savedSnapshot }),
              clock: clockSetting,
              alias: token,
            }),
          )
    if (origin !== undefined && pasts.of(origin.sim) !== undefined) pasts.keep(world.sim)
    // Its caller needs the token.
    return new JsonText(
      JSON.stringify({ world: world.name, token: world.token ?? null, base_url: worldUrl(world, request) }),
    )
  },
})

export const listWorlds = control({
  route: 'GET /_sim/worlds',
  summary: 'List the worlds of the server, the default one first',
  returns: z.array(WorldSummary),
  handle: ({ worlds, request }) => worlds.all().map(world => toSummary(world, request)),
})

export const getWorld = control({
  route: 'GET /_sim/worlds/{world}',
  summary:
    'Return a world: its fixture, time, digest, counts and idle time, and its pending requests: since when, for what, ' +
    'and until when',
  example: { target: '/_sim/worlds/default' },
  refusals: { 404: 'an unknown world' },
  returns: WorldDetails,
  handle: async ({ params, worlds, request }) => {
    const world = requireWorld(worlds, params.world)
    const { sim } = world
    await sim.clock.catchUp()
    const { deployments, batches, files, journal } = sim.world
    let events = 0
    for (const count of journal.counts.values()) events += count
    return {
      ...toSummary(world, request),
      profile: sim.world.profile.name,
      clock: clockModeOf(sim),
      waiting: pendingRequestsOf(sim),
      digest: sim.digest,
      age_seconds: world.ageMs / 1000,
      counts: {
        deployments: deployments.count,
        batches: [...batches.entries()].length,
        stored_bytes: files.storedBytes,
        events,
      },
    }
  },
})

export const deleteWorld = control({
  route: 'DELETE /_sim/worlds/{world}',
  summary: 'Delete a world',
  example: { target: '/_sim/worlds/w1' },
  refusals: { 404: 'an unknown world', 409: 'the default world' },
  returns: z.object({ world: z.string() }),
  handle: ({ params, worlds }) => {
    const world = requireWorld(worlds, params.world)
    if (world === worlds.default) {
      refuse(
        409,
        'Failed to delete the default world: a server always has one. POST /_sim/reset returns it to its start.',
      )
    }
    worlds.delete(world)
    return { world: world.name }
  },
})

type CreateWorldBody = NonNullable<z.output<typeof createWorld.body>>

/** Fields that name a moment of the past of the origin. */
const MOMENT_FIELDS = ['at', 'entry', 'after_request', 'before_request'] as const

/** Fields about the creation itself, not about the content of the world. */
const CREATION_FIELDS = ['from', 'snapshot', 'clock', 'token', ...MOMENT_FIELDS]
/** Fields that go with `snapshot`: those of the created world, and options that no snapshot settles. */
const SNAPSHOT_FIELDS = [...CREATION_FIELDS, ...httpFieldsBesideSnapshot()]

/** Rejects an option that a fork or a snapshot sets already. */
function assertNoInheritedFields(body: CreateWorldBody): void {
  const { from, snapshot } = body
  if (from === undefined && snapshot === undefined) return
  const allowed = snapshot === undefined ? CREATION_FIELDS : SNAPSHOT_FIELDS
  const first = Object.keys(body).find(name => !allowed.includes(name))
  if (first === undefined) return
  const reason =
    snapshot === undefined
      ? `a fork has the ${first} of its origin. Leave ${first} or from out.`
      : `a snapshot brings the ${first} of its world. Leave ${first} or snapshot out.`
  refuse(400, `Failed to make a world: ${reason}`)
}

/** Returns the options that the body sets, without the clock; undefined if it sets none. */
function toOptions({ clock: _, ...fields }: OptionFields): Partial<SimulatorOptions> | undefined {
  const options = fromHttpFields(fields)
  assertOptions(options, 'shipped', 'Failed to make a world')
  return Object.keys(options).length === 0 ? undefined : options
}

/** Rejects the mode `follow`: a server has no clock to follow, so the time of the world would never move. */
function assertServerClockMode(clock: CreateWorldBody['clock']): void {
  if ((typeof clock === 'object' ? clock.mode : clock) !== 'follow') return
  refuse(
    400,
    'Failed to make a world: a server has no clock to follow. Give the clock the mode scaled, on-poll, idle or manual.',
  )
}

/** Returns the moment of the past that the body names; undefined if it names none. */
function readMoment(origin: ServedWorld | undefined, body: CreateWorldBody): Moment | undefined {
  const [field, other] = MOMENT_FIELDS.filter(name => body[name] !== undefined)
  if (field === undefined) return undefined
  if (other !== undefined) refuse(400, `Failed to make a world: ${field} and ${other} contradict. Give one of them.`)
  if (origin === undefined || body.snapshot !== undefined) {
    refuse(400, `Failed to make a world: ${field} is a moment of the past of a world. Give that world in from.`)
  }
  const { at, entry, after_request: request, before_request: before } = body
  if (entry !== undefined) return { entry }
  if (request !== undefined) return { request }
  if (before !== undefined) return { before }
  const { clock } = origin.sim.world
  const time = isDuration(at) ? micros(at) : clock.elapsedAt(at!)
  if (Number.isFinite(time) && time >= 0) return { time }
  return refuse(
    400,
    `Failed to make a world: at '${at}' is an invalid time. ` +
      "Give a duration since the start of the world, as in '10m', or ISO 8601 with an offset, as in '2026-01-01T01:00:00Z'.",
  )
}

/** Returns what creates a simulator as the origin was at a moment of its past. Refuses with 409 if that is not kept. */
function pastCreator(
  pasts: Pasts,
  { sim }: ServedWorld,
  moment: Moment,
  clock: WorldSpec['clock'],
): () => Promise<Simulator> {
  const past = requirePast(pasts, sim, 'make a world')
  return () => refuseInvalid(() => past.forkAt(moment, clock))
}

function toSummary(world: ServedWorld, request: Request): z.input<typeof WorldSummary> {
  const { sim } = world
  return {
    world: world.name,
    token: world.token === undefined ? null : redactToken(world.token),
    base_url: worldUrl(world, request),
    fixtures: sim.fixture,
    seed: sim.seed,
    now: sim.world.clock.iso(sim.clock.due),
    requests: world.requests,
    idle_seconds: world.idleMs / 1000,
    fork_of: world.forkOf ?? null,
  }
}

/** Returns the end and the routing word of a token: enough to recognize it, not enough to use it. */
function redactToken(token: string): string {
  const [, value, routingWord] = /^(.*?)(\.\w+)?$/.exec(token)!
  return `…${value!.slice(-4)}${routingWord ?? ''}`
}

/** Returns the address of a world below that of the request. Behind a forwarded port, the server's own address differs. */
function worldUrl({ name }: ServedWorld, request: Request): string {
  return `${new URL(request.url).origin}/_sim/worlds/${name}`
}
