import { z } from 'zod'
import { refuse } from '../api/endpoint.ts'
import type { Happened } from '../settle.ts'
import type { Simulator } from '../simulator.ts'
import { attempt, control, OURS } from './endpoint.ts'
import { holds } from './holds.ts'

/** A duration as a user writes it; what it may be is the clock's to say. */
const Duration = z.union([z.string(), z.number()])

const Clock = z.object({
  now: z.string(),
  elapsed_seconds: z.number(),
  mode: z.enum(['manual', 'scaled']),
  speed: z.number().nullable(),
  next_event_in_seconds: z.number().nullable(),
})

const Moved = z.object({
  from: z.string(),
  to: z.string(),
  now: z.string(),
  events: z.int(),
  counts: z.record(z.string(), z.int()),
})

export const getClock = control({
  ...OURS,
  route: 'GET /_sim/clock',
  summary: 'What time it is in the world, how time moves, and when something happens next',
  returns: Clock,
  handle: ({ sim }) => shown(sim),
})

export const setClock = control({
  ...OURS,
  route: 'PUT /_sim/clock',
  summary: 'Switch how time moves, without a jump: mode manual or scaled, speed in simulated seconds a second',
  refusals: { 400: 'an unknown mode, or a speed that is none' },
  body: z.strictObject({ mode: z.string().optional(), speed: z.number().optional() }),
  returns: Clock,
  handle: async ({ body, sim }) => {
    const mode = (body.mode ?? sim.clock.mode) as 'manual' | 'scaled'
    if (mode === 'manual' && body.speed !== undefined) {
      refuse(400, "Failed to set the clock: a manual clock has no speed. Leave it out, or give mode 'scaled'.")
    }
    const speed = body.speed ?? sim.clock.speed
    await attempt(() => sim.clock.set({ mode, ...(speed !== undefined && { speed }) }))
    return shown(sim)
  },
})

export const advanceClock = control({
  ...OURS,
  route: 'POST /_sim/clock/advance',
  summary: 'Move time on by a duration ("2h") or to a moment (ISO 8601); everything due on the way happens',
  refusals: { 400: 'a duration or a moment that is none, or that has passed; too much to happen at once' },
  body: z.strictObject({ by: Duration.optional(), to: z.string().optional() }),
  returns: Moved,
  handle: async ({ body: { by, to }, sim }) => {
    if ((by === undefined) === (to === undefined)) {
      refuse(400, `Failed to advance the clock: give one of 'by' and 'to', as in {"by":"10m"}.`)
    }
    const happened = await attempt(() =>
      by === undefined ? sim.clock.advanceToInSlices(moment(sim, to!)) : sim.clock.advanceInSlices(by),
    )
    return moved(sim, happened)
  },
})

export const nextClock = control({
  ...OURS,
  route: 'POST /_sim/clock/next',
  summary: 'Move time to the next event; with visible to the next change a client could see, at most within a duration',
  refusals: { 400: 'a duration that is none' },
  body: z.strictObject({ visible: z.boolean().optional(), within: Duration.optional() }).optional(),
  returns: Moved,
  handle: async ({ body = {}, sim }) => moved(sim, await attempt(() => sim.clock.nextInSlices(body))),
})

export const untilClock = control({
  ...OURS,
  route: 'POST /_sim/clock/until',
  summary: 'Move time until a GET of the service answers what is asked for, or a duration is over (24h unless given)',
  refusals: { 400: 'a path that no GET of the service has, or a duration that is none' },
  body: z.strictObject({ get: z.string(), where: z.unknown(), within: Duration.optional() }),
  returns: z.object({ reached: z.boolean(), now: z.string(), happened: Moved.omit({ now: true }) }),
  handle: async ({ body: { get, where, within }, sim }) => {
    const [path] = get.split('?', 1)
    if (!get.startsWith('/') || sim.api.operationOf('GET', path!) === undefined) {
      refuse(400, `Failed to wait for '${get}': the service has no GET of that path. Give one, as in '/deploy/list'.`)
    }
    const headers = { authorization: `Bearer ${sim.token}` }
    const look = async () => {
      const request = new Request(`http://sim${get}`, { headers })
      // Past the door and its queue: this very request holds the queue.
      const response = await sim.api.answer(sim.world, request, { path: get })
      const text = await response.text()
      return response.ok && holds(parsed(text), where)
    }
    const { reached, happened } = await attempt(() => sim.clock.untilInSlices(look, { within }))
    return { reached, now: sim.clock.iso, happened }
  },
})

export const reset = control({
  ...OURS,
  route: 'POST /_sim/reset',
  summary: 'Back to the world as it was loaded: its time, ids and digest',
  returns: z.object({ now: z.string(), digest: z.string() }),
  handle: ({ sim }) => {
    sim.reset()
    return { now: sim.clock.iso, digest: sim.digest }
  },
})

function shown({ clock }: Simulator): z.input<typeof Clock> {
  return {
    now: clock.iso,
    elapsed_seconds: clock.elapsed / 1e6,
    mode: clock.mode,
    speed: clock.speed ?? null,
    next_event_in_seconds: clock.nextIn === undefined ? null : clock.nextIn / 1e6,
  }
}

function moved(sim: Simulator, happened: Happened): z.input<typeof Moved> {
  return { ...happened, counts: { ...happened.counts }, now: sim.clock.iso }
}

/** Microseconds of a moment to come. */
function moment(sim: Simulator, text: string): number {
  const at = sim.world.clock.fromIso(text)
  if (!Number.isFinite(at) || !/(Z|[+-]\d\d:?\d\d)$/i.test(text)) {
    throw new RangeError(
      `Failed to advance to '${text}': no time with an offset. Give ISO 8601, as in '2026-01-02T00:00:00Z'.`,
    )
  }
  if (at < sim.clock.elapsed) {
    throw new RangeError(`Failed to advance to '${text}': it is ${sim.clock.iso} already, and time never goes back.`)
  }
  return at
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
