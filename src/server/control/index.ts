/** The control plane: the simulator's own endpoints, which take a `Request` and return a `Response` as the service does. */

import { actFor } from '../../kernel/journal-origin.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { oncePer } from '../../lib/once.ts'
import type { IncomingRequest } from '../../service/http/incoming-request.ts'
import { Pipeline } from '../../service/http/pipeline.ts'
import type { RequestHooks } from '../../service/http/request-context.ts'
import { declarationsOf } from '../../service/operation-table.ts'
import * as moneyTracker from '../../simulator/explain/money-tracker.ts'
import type { Pasts } from '../../simulator/history/past/pasts.ts'
import * as pastsOfWorlds from '../../simulator/history/past/pasts.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import type { TimelineLibrary } from '../../simulator/timelines.ts'
import type { Worlds } from '../worlds/worlds.ts'
import { OPERATIONS } from './declarations.ts'
import type { ControlScope, WritePage } from './endpoint.ts'
import * as eventStream from './event-stream.ts'

/**
 * Every operation of the control plane by its id. Typed clients are made from it.
 *
 * @example createClientFor(controlOperations, fetch, { baseUrl: 'http://127.0.0.1:4010' }).advanceClock({ by: '2h' })
 */
export const controlOperations = declarationsOf(OPERATIONS)

export interface Control {
  /** Answers a request to the control plane of a world. The transport applies the guards before. */
  answer(sim: Simulator, request: Request, call: IncomingRequest): Response | Promise<Response>
  /** The pasts that are kept. */
  readonly pasts: Pasts
}

/** Operations about the simulator or all its worlds. They do not wait for the clock of this world. */
const IMMEDIATE_OPERATIONS: readonly string[] = [
  ...['getHealth', 'getOverview', 'getRoot'],
  ...['createWorld', 'listWorlds', 'getWorld', 'deleteWorld'],
  // Its events come during a long move too.
  'watchEvents',
]
const HOOKS: RequestHooks<Simulator> = {
  enter: (sim, operationId) =>
    operationId === undefined || IMMEDIATE_OPERATIONS.includes(operationId) ? undefined : sim.clock.catchUp(),
}

/**
 * Operations that the journal leaves out beside every GET: they change nothing in the world. A page that shows a world
 * reads often, and each entry would make it read again.
 */
const UNJOURNALED_OPERATIONS: readonly string[] = [
  ...IMMEDIATE_OPERATIONS,
  ...['verifyReceived', 'keepPast', 'forgetPast'],
  // It runs in a world of its own.
  'runScenario',
]

const withoutScenarios = (verb: string) => async (name: string) => {
  throw new RangeError(`Failed to ${verb} the scenario '${name}': this server has no scenarios.`)
}
const NO_SCENARIOS: TimelineLibrary = { names: () => [], read: withoutScenarios('read'), run: withoutScenarios('run') }

/** What a control plane gets from its host. */
export interface ControlHost {
  /** The scenarios whose timelines it can play. Default: none. */
  readonly library?: TimelineLibrary | undefined
  /** Default: it cannot save pages. */
  readonly writePage?: WritePage | undefined
}

/** Creates the control plane of a server, one for all its worlds. */
export function createControl(worlds: Worlds, { library = NO_SCENARIOS, writePage }: ControlHost = {}): Control {
  let turns: eventStream.EventTurns | undefined
  const textsOf = oncePer((_: Simulator) => {
    turns ??= new eventStream.EventTurns()
    return new eventStream.EventTexts(turns)
  })
  const pasts = new pastsOfWorlds.Pasts()
  const moneyOf = oncePer((sim: Simulator) => new moneyTracker.MoneyTracker(sim))
  const pipeline = new Pipeline<Simulator, ControlScope>({
    operations: controlOperations,
    routes: OPERATIONS,
    // With an ignored typo, a request would do something else than its sender meant.
    strictInput: true,
    createScope: ({ backend: sim, seq }) => ({
      ...{ sim, worlds, library, operations: controlOperations, pasts, writePage },
      eventTexts: () => textsOf(sim),
      lookAtMoney: () => moneyOf(sim).look(),
      actAsRequest: act => (seq === undefined ? act() : actFor(sim.world.journal, seq, act)),
    }),
    show: (sim, json) => sim.world.apiTokens.hideSecrets(json),
    hasRevisions: true,
    // The time of a scaled clock: reading it fires no events.
    clock: sim => ({ epochMs: sim.world.clock.epochMs, now: sim.clock.due }),
    openEntry(sim, operation, method, path) {
      if (operation === '' || method === 'GET' || UNJOURNALED_OPERATIONS.includes(operation)) return undefined
      return sim.listControlRequest(operation, method, path)
    },
    closeEntry(_, entry, status, decidedBy) {
      if (entry !== undefined) Object.assign(entry.fields, { status, decidedBy })
    },
  })

  return {
    pasts,
    answer(sim, request, call) {
      const path = call.path ?? '/'
      const hide = (text: string) => sim.world.apiTokens.hideSecrets(text)
      const end = path.split('?', 1)[0]!
      if (request.method === 'DELETE' && end.endsWith('/')) return missingName(hide(end))
      const operation = pipeline.findOperationId(request.method, end)
      const response = pipeline.answer(sim, request, call, HOOKS)
      if (operation !== undefined) return response
      return Promise.resolve(response).then(response =>
        response.status === 404 ? notFound(hide(path), response) : response,
      )
    },
  }
}

/** Refuses to delete a thing without a name. A slash at the end does not count elsewhere, so all of them would go. */
function missingName(path: string): Response {
  const all = path.replace(/\/+$/, '')
  const error = `Failed to delete '${path}': the name behind the slash is missing. Give it, or send DELETE ${all}.`
  return new Response(JSON.stringify({ error }), { status: 404, headers: { 'content-type': 'application/json' } })
}

function notFound(target: string, { headers }: Response): Response {
  const path = target.split('?', 1)[0]!
  const paths = new Set(Object.values(OPERATIONS).map(entry => entry.path))
  // A path that is named by what it does, as in '/_sim/answers'.
  const word = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  const named = Object.entries(OPERATIONS).find(([name]) => word.length > 3 && name.toLowerCase().endsWith(word))
  const fallback = named === undefined ? 'GET /_sim lists the paths.' : `Did you mean '${named[1].path}'?`
  const advice = formatSuggestion(path, paths, fallback)
  const error = `Failed to find '${path}': unknown path of the control plane. ${advice}`
  return new Response(JSON.stringify({ error }), { status: 404, headers })
}
