import * as z from 'zod'
import { GPU_TYPES } from '../../../data/records/gpu-config.ts'
import { type Micros, micros } from '../../../kernel/duration.ts'
import { fieldsOf, given } from '../../../lib/fields.ts'
import { groupBy } from '../../../lib/lists.ts'
import { rowsOf } from '../../../service/fields.ts'
import { refuse } from '../../../service/refusals.ts'
import type { CommandDefinition } from '../../../simulation/operations/command-definition.ts'
import { COMMANDS, type Command } from '../../../simulation/operations/commands.ts'
import { isDuration } from '../../../simulator/faults/kinds/fields.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { control, DurationField, refuseInvalid } from '../endpoint.ts'

const NodeSchema = z.object({
  name: z.string(),
  state: z.enum(['provisioning', 'ready', 'cordoned', 'down', 'gone']),
  pool: z.string(),
  zone: z.string(),
  market: z.enum(['on-demand', 'spot']),
  gpu: z.enum(GPU_TYPES),
  ...fieldsOf(z.int(), 'gpus', 'free', 'broken'),
  slowdown: z.number(),
})

export const listNodes = control({
  route: 'GET /_sim/cluster/nodes',
  summary: 'List the nodes of the fleet with their free GPUs',
  returns: z.array(NodeSchema),
  handle: ({ sim }) => sim.cluster.nodes(),
})

export const getNodeOfDeployment = control({
  route: 'GET /_sim/cluster/deployments/{deploy_id}/node',
  summary: 'Return the node of the oldest placed instance of a deployment, or of a container',
  example: { target: '/_sim/cluster/deployments/2cZeTxVFN7tKxCCh/node' },
  refusals: { 404: 'an unknown id', 409: 'it has no node yet, or has ended' },
  returns: NodeSchema,
  handle: async ({ params: { deploy_id }, sim }) => {
    const { deployments, rentals } = sim.world
    const isKnown = (deployments.ordinalOf(deploy_id) ?? rentals.ordinalOf(deploy_id)) !== undefined
    const { name } = await refuseInvalid(() => sim.cluster.nodeOf(deploy_id), isKnown ? 409 : 404)
    return sim.cluster.nodes().find(node => node.name === name)!
  },
})

const CommandSchema = z.object({ verb: z.string(), target: z.string().optional() })
const ActiveFailureSchema = z.object({
  what: z.string(),
  undo: CommandSchema.optional().describe('Missing if a deployment waits for GPUs that no node of the fleet can have'),
})

export const listTroubles = control({
  route: 'GET /_sim/troubles',
  summary: 'List the active failures of the world, each with the command that undoes it, if there is one',
  returns: z.array(ActiveFailureSchema),
  handle: ({ sim }) => sim.cluster.activeFailures().map(toActiveFailure),
})

export const healWorld = control({
  route: 'POST /_sim/heal',
  summary: 'Undo all active failures that a command can undo, and return them',
  returns: z.array(ActiveFailureSchema),
  handle: ({ sim, actAsRequest }) => actAsRequest(() => sim.cluster.recoverAll()).map(toActiveFailure),
})

function toActiveFailure({ description, undo }: ReturnType<Simulator['cluster']['activeFailures']>[number]) {
  return { what: description, ...(undo && { undo: toCommand(undo) }) }
}

function toCommand({ verb, target }: Pick<Command, 'verb' | 'target'>): z.input<typeof CommandSchema> {
  return { verb, ...given({ target }) }
}

export const listVerbs = control({
  route: 'GET /_sim/commands',
  summary: 'List the commands that break or repair something, with their targets and arguments',
  returns: rowsOf({
    verb: z.string(),
    target: z.string(),
    undo: z.string().nullable(),
    says: z.string(),
    args: z.array(z.string()),
  }),
  handle: () =>
    Object.entries<CommandDefinition>(COMMANDS).map(([verb, { target = 'none', undo, description, args = {} }]) => ({
      verb,
      // That the fleet must offer the type is a matter of its check.
      target: target === 'offeredGpuType' ? 'gpuType' : target,
      undo: undo ?? null,
      says: description,
      args: Object.keys(args),
    })),
})

export const giveCommand = control({
  route: 'POST /_sim/commands',
  summary: 'Execute a command now, or later: `at` is a duration from now, or ISO 8601. `GET /_sim/commands` lists them',
  example: { body: { verb: 'zone.down', target: 'east-a', at: '10m' } },
  refusals: { 400: 'an unknown verb or target, a target of a command without one, or an invalid argument or time' },
  body: z.strictObject({
    verb: z.string(),
    target: z.string().optional(),
    args: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.string())]))
      .optional(),
    at: DurationField.optional(),
  }),
  returns: z.object({ verb: z.string(), at: z.string() }),
  handle: async ({ body: { verb, target, args, at }, sim, actAsRequest }) => {
    const { world } = sim
    const delay = at === undefined ? 0 : parseDelay(sim, verb, at)
    const command = { verb, ...given({ target, args }) }
    await refuseInvalid(() => actAsRequest(() => world.commands.schedule(command, delay)), 400)
    return { verb, at: world.clock.iso(world.clock.now + delay) }
  },
})

export const listGpuLimits = control({
  route: 'GET /_sim/cluster/limits',
  summary: "List the account's limit for each GPU type (null: unlimited), and how many GPUs are held or requested",
  returns: rowsOf({ gpu: z.string(), limit: z.int().nullable(), held: z.int() }),
  handle: ({ sim: { world } }) =>
    GPU_TYPES.filter(gpu => gpu !== 'other').map(gpu => ({
      gpu,
      limit: world.gpuQuotas.get(gpu),
      held: world.gpuQuotas.held(gpu),
    })),
})

/** Returns the delay of a command in microseconds. It takes a duration from now or ISO 8601, and refuses the past. */
function parseDelay({ world: { clock } }: Simulator, verb: string, at: string): Micros {
  const delay = isDuration(at) ? micros(at) : clock.elapsedAt(at) - clock.now
  if (delay >= 0) return delay
  const problem = delay < 0 ? `is in the past: it is ${clock.iso()} now` : 'is an invalid time'
  return refuse(
    400,
    `Failed to execute '${verb}': at '${at}' ${problem}. ` +
      "Give a duration from now, as in '10m', or ISO 8601 with an offset, as in '2026-01-01T01:00:00Z'.",
  )
}

export const getWeather = control({
  route: 'GET /_sim/weather',
  summary:
    'Return the weather of the world: how often each kind of failure happens, and which failures are active now, ' +
    'each with the command that undoes it. `packs` lists the values of the option `weather` of a world',
  returns: z.object({
    pack: z.string().describe('none: no weather'),
    packs: z.array(z.string()).describe('For the option weather of POST /_sim/worlds'),
    profile: z.string(),
    kinds: rowsOf({
      kind: z.string(),
      places: z.int().describe('Nodes, zones or GPU types that it can strike; 1 for a service of the provider'),
      strikes_per_hour: z.number().describe('Of all places together'),
      strikes: z.int().describe('So far'),
      active: rowsOf({ place: z.string(), undo: CommandSchema }).describe('What it has struck now'),
    }),
  }),
  handle: ({ sim }) => {
    const { name, weather } = sim.world.profile
    return { pack: weather.pack, packs: ['none', ...Object.keys(weather.packs)], profile: name, kinds: kindsOf(sim) }
  },
})

function kindsOf({ world }: Simulator) {
  const kinds = groupBy(
    Array.from(world.weather.entries(), ([, row]) => row),
    ({ kind }) => kind,
  )
  return Array.from(kinds, ([kind, rows]) => ({
    ...{ kind, places: rows.length },
    strikes_per_hour: rows.reduce((sum, row) => sum + row.strikesPerHour, 0),
    strikes: rows.reduce((sum, row) => sum + row.strikeCount, 0),
    active: rows.flatMap(({ place, undo }) => (undo === undefined ? [] : [{ place, undo: toCommand(undo) }])),
  }))
}
