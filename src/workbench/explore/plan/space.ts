/** The space of a run: every single fault that can strike in it, by kind and place. */

import type { Operations } from '../../../service/endpoint.ts'
import { operations } from '../../../service/index.ts'
import type { Command } from '../../../simulation/operations/commands.ts'
import type { Boundary, RunResult } from '../run/run-result.ts'
import type { Choices } from './choices.ts'
import { classesOf, FAULT_CLASSES, type FaultClass } from './classes.ts'
import { type Coordinate, type CoordinateOptions, coordinatesOf } from './coordinates.ts'
import { OUTAGE, outageItem, requestItem } from './items.ts'
import type { PlanItem } from './plan.ts'

/** A command at a boundary of the base run. */
interface WorldVerb {
  /** What it does, as in `node.crash`. */
  readonly verb: string
  /** The kind of the boundary, as in `deployment.running`; `start` for the start of the flow. */
  readonly when: string
  /** The place in words, as in `deployment.running of a1`. */
  readonly place: string
  readonly item: PlanItem
}

interface VerbRule {
  /** Boundaries of these kinds. */
  readonly kinds: readonly string[]
  /** Returns the command; undefined if the boundary has no target for it. */
  command(boundary: Boundary): Command | '' | false | undefined
  /** The command that ends it after the time of an outage. Without one, it lasts. */
  readonly undo?: string
  /** Whether it acts when the flow begins, before the boundary. */
  readonly isAtStart?: true
}

/** The loss of a node before and after an instance or a container serves are different cases. */
const RULES: readonly VerbRule[] = [
  {
    kinds: ['instance.placed', 'instance.warming', 'instance.ready', 'container.placed', 'container.running'],
    command: ({ node }) => node && { verb: 'node.crash', target: node },
    undo: 'node.repair',
  },
  {
    kinds: ['deployment.created', 'container.created'],
    command: ({ gpu }) => gpu && { verb: 'pool.stockOut', target: gpu },
    undo: 'pool.restock',
    isAtStart: true,
  },
  {
    kinds: ['deployment.running', 'hosted.running', 'container.running', 'batch.in_progress'],
    command: () => ({ verb: 'funds.set', args: { usd: 0 } }),
  },
  // The engine fails at each start, so the deployment fails in the end.
  {
    kinds: ['deployment.deploying'],
    command: ({ subject }) => ({ verb: 'deployment.crash', target: subject, args: { times: 20 } }),
  },
  // With no line done, and with some of them.
  {
    kinds: ['batch.in_progress', 'batch.progressed'],
    command: ({ subject, nth }) => nth === 1 && { verb: 'batch.expire', target: subject },
  },
  // Downloads begin after the placement.
  { kinds: ['instance.placed'], command: () => ({ verb: 'hub.down' }), undo: 'hub.up' },
  { kinds: ['container.starting'], command: () => ({ verb: 'registry.down' }), undo: 'registry.up' },
  { kinds: ['hosted.running'], command: ({ subject }) => ({ verb: 'hosted.crash', target: subject }) },
]

/**
 * Returns one command for each boundary and rule. The anchors name the boundary by kind, subject and count, so they stay
 * true when other items of a plan come or go. A stock-out before the create acts once for each GPU type.
 */
function worldVerbsOf(boundaries: readonly Boundary[]): WorldVerb[] {
  const verbs = new Map<string, WorldVerb>()
  for (const { kinds, command: commandOf, undo, isAtStart } of RULES) {
    for (const boundary of boundaries) {
      const command = kinds.includes(boundary.kind) ? commandOf(boundary) : undefined
      if (!command) continue
      const { kind, subject, nth } = boundary
      const { verb, target } = command
      const after = isAtStart ? { kind: 'start' } : { kind, subject, nth }
      const ending = undo && { for: OUTAGE, undo: { verb: undo, ...(target !== undefined && { target }) } }
      const item: PlanItem = { command, after, ...ending }
      const place = isAtStart ? `start, ${target}` : `${kind} of ${subject}`
      verbs.set(JSON.stringify(item), { verb, when: after.kind, place, item })
    }
  }
  return [...verbs.values()]
}

/** `request`: a fault of one request; `outage`: of an operation for some time; `world`: a command; `crash`: of the client. */
export const POINT_KINDS = ['request', 'outage', 'world', 'crash'] as const
export type PointKind = (typeof POINT_KINDS)[number]

/** A single fault: a class at a place. */
export interface Point {
  readonly kind: PointKind
  /** The operation; for a command to the world, the kind of its boundary. */
  readonly operation: string
  /** The class of the fault with `for 60s` for an outage, the command, or `crash`. */
  readonly class: string
  /** The place in words, as in `GET /deploy/a1, 3`. */
  readonly place: string
  readonly item: PlanItem
  /** The request of the run at which it begins to act, from 1; undefined for a command to the world. */
  readonly index: number | undefined
  /** How the client sees it: what is not an error looks like itself alone. */
  readonly looksLike: string
  /** Whether the service carries out a write that the client takes for failed or unknown. */
  readonly leavesWork: boolean
  /** What the client saw of the request without this fault; `''` for a command to the world. */
  readonly visibleStatus: string
  /** Why no client can survive it; undefined for most. */
  readonly maySurface: string | undefined
}

/** The points of one place, simple classes first. */
export interface Place {
  readonly name: string
  readonly points: readonly Point[]
}

/** All single faults of a run. */
export interface Space {
  /** The places of each kind, in the order of the run. A kind without places is missing. */
  readonly kinds: readonly { readonly kind: PointKind; readonly places: readonly Place[] }[]
  readonly classes: readonly FaultClass[]
  /** The number of requests of the run. */
  readonly requests: number
}

export interface SpaceOptions extends CoordinateOptions {
  /** Default: all classes. */
  readonly classes?: readonly FaultClass[]
  /** Leaves out the requests up to this one and the commands to the world. Default: leaves out nothing. */
  readonly after?: number
}

const ENDPOINTS = operations as unknown as Operations

/** Returns the space of a run. */
export function spaceOf(run: Pick<RunResult, 'requests' | 'boundaries'>, options: SpaceOptions = {}): Space {
  const { classes = FAULT_CLASSES, after } = options
  const coordinates = coordinatesOf(run.requests, options).filter(({ index }) => index > (after ?? 0))
  const places: Readonly<Record<PointKind, readonly Place[]>> = {
    request: coordinates.map(coordinate => requestPlace(coordinate, classes)),
    outage: firstOfEachOperation(coordinates).map(coordinate => outagePlace(coordinate, classes)),
    world: after === undefined ? worldPlaces(run) : [],
    crash: coordinates.map(crashPlace),
  }
  const kinds = POINT_KINDS.map(kind => ({ kind, places: places[kind].filter(({ points }) => points.length > 0) }))
  return { kinds: kinds.filter(one => one.places.length > 0), classes, requests: run.requests.length }
}

/** Chooses one point: its kind, its place, its class. The space must have a point. */
export function pickPoint(choices: Choices, { kinds }: Pick<Space, 'kinds'>): Point {
  const { places } = choices.pick('kind', kinds)
  return choices.pick('class', choices.pick('place', places).points)
}

function requestPlace(coordinate: Coordinate, classes: readonly FaultClass[]): Place {
  const { operation, method, path, nth, index, visibleStatus } = coordinate
  const name = `${method} ${path}, ${nth}`
  const points = classesOf(ENDPOINTS[operation]!, classes).map(faultClass => ({
    kind: 'request' as const,
    operation,
    class: faultClass.name,
    place: name,
    item: requestItem(coordinate, faultClass),
    index,
    looksLike: looksLike(faultClass),
    leavesWork: method !== 'GET' && faultClass.effect === 'after',
    visibleStatus,
    maySurface: faultClass.maySurface,
  }))
  return { name, points }
}

function outagePlace(
  { operation, nthOfOperation, index, visibleStatus }: Coordinate,
  classes: readonly FaultClass[],
): Place {
  const name = `${operation} from request ${nthOfOperation} on`
  const lasting = classesOf(ENDPOINTS[operation]!, classes).filter(({ canLast }) => canLast)
  const points = lasting.map(faultClass => ({
    kind: 'outage' as const,
    operation,
    class: `${faultClass.name} for 60s`,
    place: name,
    item: outageItem(operation, nthOfOperation, faultClass),
    index,
    looksLike: looksLike(faultClass),
    leavesWork: false,
    visibleStatus,
    maySurface: faultClass.maySurface,
  }))
  return { name, points }
}

function looksLike({ name, seenAs }: FaultClass): string {
  return seenAs === 'ok' ? name : seenAs
}

function crashPlace({ operation, method, path, nth, index, visibleStatus }: Coordinate): Place {
  const name = `${method} ${path}, ${nth}`
  const where = { operation, place: name, index, looksLike: 'crash', leavesWork: method !== 'GET', visibleStatus }
  return { name, points: [{ ...where, kind: 'crash', class: 'crash', item: { crash: index }, maySurface: undefined }] }
}

function worldPlaces({ boundaries }: Pick<RunResult, 'boundaries'>): Place[] {
  return worldVerbsOf(boundaries).map(({ verb, when, place, item }) => ({
    name: place,
    points: [
      {
        kind: 'world',
        operation: when,
        class: verb,
        place,
        item,
        index: undefined,
        looksLike: verb,
        leavesWork: false,
        visibleStatus: '',
        maySurface: undefined,
      } as const,
    ],
  }))
}

function firstOfEachOperation(coordinates: readonly Coordinate[]): Coordinate[] {
  const seen = new Set<string>()
  return coordinates.filter(({ operation }) => !seen.has(operation) && seen.add(operation))
}
