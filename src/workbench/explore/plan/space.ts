/** The space of a run: every single fault that can strike in it, by kind and place. */

import type { Operations } from '../../../service/endpoint.ts'
import type { Command } from '../../../simulation/operations/commands.ts'
import type { Fault } from '../../../simulator/faults/rules.ts'
import type { RuleName } from '../../../simulator/judge/rules/index.ts'
import type { Boundary, RunResult } from '../run/runner.ts'
import type { Choices } from './choices.ts'
import {
  classesOf,
  DEFAULT_CLASSES,
  endlessPagesOf,
  type FaultClass,
  failedLineOf,
  type Surface,
  variationsOf,
} from './classes.ts'
import { type Coordinate, type CoordinateOptions, coordinatesOf } from './coordinates.ts'
import { OUTAGE, outageItem, requestItem } from './items.ts'
import type { CheckedFault } from './own-faults.ts'
import { type PlanItem, WHOLE_RUN, withContentName } from './plan.ts'

interface VerbRule {
  /** Boundaries of these kinds. */
  readonly kinds: readonly string[]
  /** The command. */
  readonly verb: string
  /** Returns its target; undefined or false if the boundary has none. Default: the command has no target. */
  target?(boundary: Boundary): string | false | undefined
  readonly args?: Command['args']
  /** The command that ends it after the time of an outage. Without one, it lasts. */
  readonly undo?: string
  /** Whether it acts when the flow begins, before the boundary. */
  readonly isAtStart?: true
}

const subjectOf = ({ subject }: Boundary) => subject
const gpuOf = ({ gpu }: Boundary) => gpu
/** The loss of a node before and after an instance or a container serves are different cases. */
const ON_NODE = ['instance.placed', 'instance.warming', 'instance.ready', 'container.placed', 'container.running']
const CREATED = ['deployment.created', 'container.created']
const RUNNING = ['deployment.running', 'hosted.running', 'container.running', 'batch.in_progress']

const RULES: readonly VerbRule[] = [
  { kinds: ON_NODE, verb: 'node.crash', target: ({ node }) => node, undo: 'node.repair' },
  { kinds: CREATED, verb: 'pool.stockOut', target: gpuOf, undo: 'pool.restock', isAtStart: true },
  { kinds: RUNNING, verb: 'funds.set', args: { usd: 0 } },
  // The engine fails at each start, so the deployment fails in the end.
  { kinds: ['deployment.deploying'], verb: 'deployment.crash', target: subjectOf, args: { times: 20 } },
  // What others do with the account.
  { kinds: ['deployment.running'], verb: 'deployment.stop', target: subjectOf },
  { kinds: ['deployment.running'], verb: 'deployment.delete', target: subjectOf },
  { kinds: ['adapter.created'], verb: 'deployment.fail', target: subjectOf },
  { kinds: ['batch.created'], verb: 'batch.fail', target: subjectOf },
  { kinds: ['batch.in_progress'], verb: 'batch.cancel', target: subjectOf },
  { kinds: ['batch.completed'], verb: 'file.delete', target: ({ file }) => file },
  { kinds: CREATED, verb: 'limit.set', target: gpuOf, args: { limit: 0 }, isAtStart: true },
  // With no line done, and with some of them.
  {
    kinds: ['batch.in_progress', 'batch.progressed'],
    verb: 'batch.expire',
    target: ({ subject, nth }) => nth === 1 && subject,
  },
  // Downloads begin after the placement.
  { kinds: ['instance.placed'], verb: 'hub.down', undo: 'hub.up' },
  { kinds: ['container.starting'], verb: 'registry.down', undo: 'registry.up' },
  { kinds: ['hosted.running'], verb: 'hosted.crash', target: subjectOf },
]

/**
 * Returns one command for each boundary and rule. The anchors name the boundary by kind, subject and count, so they stay
 * true when other items of a plan come or go. A stock-out before the create acts once for each GPU type.
 */
function worldPlaces({ boundaries }: Pick<RunResult, 'boundaries'>): Place[] {
  const places = new Map<string, Place>()
  for (const { kinds, verb, target: targetOf, args, undo, isAtStart } of RULES) {
    for (const boundary of boundaries.filter(({ kind }) => kinds.includes(kind))) {
      const target = targetOf?.(boundary)
      if (targetOf !== undefined && !target) continue
      const { kind, subject, nth } = boundary
      const named = target ? { target } : {}
      const command = { verb, ...named, ...(args && { args }) }
      const after = isAtStart ? { kind: 'start' } : { kind, subject, nth }
      const ending = undo && { for: OUTAGE, undo: { verb: undo, ...named } }
      const item: PlanItem = { command, after, ...ending }
      const place = isAtStart ? `start, ${target}` : `${kind} of ${subject}`
      places.set(JSON.stringify(item), placeOf('world', after.kind, verb, place, item))
    }
  }
  return [...places.values()]
}

/**
 * `request`: a fault of one request; `outage`: of an operation for some time; `world`: a command, or what follows a change
 * of the world; `crash`: of the client; `own`: a fault of the flow; `variation`: another form of all answers.
 */
export const POINT_KINDS = ['request', 'outage', 'world', 'crash', 'own', 'variation'] as const
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
  /** Undefined for most. */
  readonly maySurface: Surface | undefined
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
  /** The operations that the world serves. */
  readonly operations: Operations
  /** Default: all classes but those that are tried by name. */
  readonly classes?: readonly FaultClass[]
  /** The faults of the flow. */
  readonly own?: readonly CheckedFault[]
  /** Default: true. */
  readonly variations?: boolean
  /** Leaves out the requests up to this one and the commands to the world. Default: leaves out nothing. */
  readonly after?: number
}

/** Returns the space of a run. */
export function spaceOf(
  run: Pick<RunResult, 'requests' | 'boundaries' | 'statusFields'>,
  options: SpaceOptions,
): Space {
  const { operations, classes = DEFAULT_CLASSES, own = [], variations = true, after } = options
  const coordinates = coordinatesOf(run.requests, { ...options, statusFields: run.statusFields }).filter(
    ({ index }) => index > (after ?? 0),
  )
  const places: Readonly<Record<PointKind, readonly Place[]>> = {
    request: coordinates.map(coordinate => requestPlace(coordinate, operations, classes)),
    outage: outageStarts(coordinates, operations).map(coordinate => outagePlace(coordinate, operations, classes)),
    world:
      after === undefined
        ? [
            ...worldPlaces(run),
            ...notServingPlaces(run, coordinates, operations),
            ...failedLinePlaces(run),
            ...endlessPlaces(coordinates, operations),
            ...revokedPlaces(coordinates),
          ]
        : [],
    crash: coordinates.map(crashPlace),
    own: own.flatMap(fault => ownPlaces(fault, coordinates, after)),
    variation: after === undefined && variations ? variationPlaces(coordinates, operations) : [],
  }
  const kinds = POINT_KINDS.map(kind => ({ kind, places: places[kind].filter(({ points }) => points.length > 0) }))
  return { kinds: kinds.filter(one => one.places.length > 0), classes, requests: run.requests.length }
}

/** Chooses one point: its kind, its place, its class. The space must have a point. */
export function pickPoint(choices: Choices, { kinds }: Pick<Space, 'kinds'>): Point {
  const { places } = choices.pick('kind', kinds)
  return choices.pick('class', choices.pick('place', places).points)
}

function requestPlace(coordinate: Coordinate, operations: Operations, classes: readonly FaultClass[]): Place {
  const { operation, method, path, nth, index, visibleStatus } = coordinate
  const where = { kind: 'request', operation, place: `${method} ${path}, ${nth}`, index, visibleStatus } as const
  return placeOfClasses(where, classesOf(operations[operation]!, coordinate, classes), faultClass => ({
    item: requestItem(coordinate, faultClass),
    looksLike: looksLike(faultClass),
    leavesWork: method !== 'GET' && faultClass.effect === 'after',
  }))
}

function outagePlace(coordinate: Coordinate, operations: Operations, classes: readonly FaultClass[]): Place {
  const { operation, nthOfOperation, index, visibleStatus } = coordinate
  const place = `${operation} from request ${nthOfOperation} on`
  const lasting = classesOf(operations[operation]!, coordinate, classes).filter(({ canLast }) => canLast)
  return placeOfClasses({ kind: 'outage', operation, place, index, visibleStatus }, lasting, faultClass => ({
    class: `${faultClass.name} for 60s`,
    item: outageItem(operation, nthOfOperation, faultClass),
    looksLike: looksLike(faultClass),
  }))
}

/** Returns a place with a point for each class. */
export function placeOfClasses(
  where: Pick<Point, 'kind' | 'operation' | 'place' | 'index' | 'visibleStatus'>,
  classes: readonly FaultClass[],
  more: (faultClass: FaultClass) => Pick<Point, 'item'> & Partial<Point>,
): Place {
  const points = classes.map(one => {
    const { name, maySurface } = one
    return { ...where, class: name, looksLike: name, leavesWork: false, maySurface, ...more(one) }
  })
  return { name: where.place, points }
}

function looksLike({ name, seenAs }: FaultClass): string {
  return seenAs === 'ok' ? name : seenAs
}

function crashPlace({ operation, method, path, nth, index, visibleStatus }: Coordinate): Place {
  const name = `${method} ${path}, ${nth}`
  const where = { operation, place: name, index, looksLike: 'crash', leavesWork: method !== 'GET', visibleStatus }
  return { name, points: [{ ...where, kind: 'crash', class: 'crash', item: { crash: index }, maySurface: undefined }] }
}

/** Returns the place of one point that is about no single request. */
function placeOf(
  kind: PointKind,
  operation: string,
  name: string,
  place: string,
  item: PlanItem,
  maySurface?: Surface,
): Place {
  const where = { index: undefined, looksLike: name, leavesWork: false, visibleStatus: '', maySurface }
  return { name: place, points: [{ ...where, kind, operation, class: name, place, item }] }
}

/** Returns the places at which a deployment is running, and its model answers 503 for a while. */
function notServingPlaces(
  { boundaries }: Pick<RunResult, 'boundaries'>,
  coordinates: readonly Coordinate[],
  operations: Operations,
): Place[] {
  const on = [...new Set(coordinates.map(({ operation }) => operation))].filter(
    one => operations[one]!.acceptsScopedTokens,
  )
  return boundaries
    .filter(({ kind, nth }) => kind === 'deployment.running' && nth === 1 && on.length > 0)
    .map(({ kind, subject }) => {
      const rule = { on, nth: 1, for: '40s', after: { kind, subject }, fault: { kind: 'status', status: 503 } } as const
      return placeOf('world', kind, 'notServing', `${kind} of ${subject}`, { fault: withContentName(rule) })
    })
}

/** Returns the place in the first batch whose lines run. */
function failedLinePlaces({ boundaries }: Pick<RunResult, 'boundaries'>): Place[] {
  const batch = boundaries.find(({ kind }) => kind === 'batch.in_progress')
  if (batch === undefined) return []
  const rule = failedLineOf(batch.lines ?? 1)
  const item = { fault: withContentName(rule), passes: false }
  return [placeOf('world', batch.kind, 'failedLine', `line ${rule.nth} of ${batch.subject}`, item)]
}

function ownPlaces(own: CheckedFault, coordinates: readonly Coordinate[], after: number | undefined): Place[] {
  const { item, operations, class: name } = own
  const struck = coordinates.filter(({ operation }) => operations?.has(operation))
  // A rule that no request meets is one point, so that the report names it as not reached.
  if (!('fault' in item) || struck.length === 0) {
    const subject = 'fault' in item ? [item.fault.on].flat().join(' | ') : 'after' in item ? item.after.kind : ''
    return after === undefined ? [placeOf('own', subject, name, `${name} of the flow`, item)] : []
  }
  return struck.map(({ operation, method, path, nth, index, visibleStatus }) => {
    const one = { ...item, fault: withContentName({ ...item.fault, on: operation, path, nth }) }
    const place = placeOf('own', operation, name, `${method} ${path}, ${nth}`, one)
    return { ...place, points: place.points.map(point => ({ ...point, index, visibleStatus })) }
  })
}

/** Returns the place in the middle of a run from which on the token of the client is no longer good. */
function revokedPlaces(coordinates: readonly Coordinate[]): Place[] {
  const middle = coordinates[coordinates.length >> 1]
  if (middle === undefined || coordinates.length < 2) return []
  const rule = { on: '*', nth: middle.index, for: WHOLE_RUN, fault: { kind: 'status', status: 401 } } as const
  const item = { fault: withContentName(rule) }
  const rules: ReadonlySet<RuleName> = new Set(['noLeak', 'cleansUpOnThrow', 'spendsAtMost'])
  const maySurface = { reason: 'the token is revoked, so a client cannot clean up with it', rules }
  return [placeOf('world', middle.operation, 'tokenRevoked', `request ${middle.index}`, item, maySurface)]
}

function endlessPlaces(coordinates: readonly Coordinate[], operations: Operations): Place[] {
  const rule = endlessPagesOf(coordinates, operations)
  if (rule === undefined) return []
  return [
    placeOf('world', [rule.on].flat().join(' | '), 'endlessPages', 'the whole run', { fault: withContentName(rule) }),
  ]
}

function variationPlaces(coordinates: readonly Coordinate[], operations: Operations): Place[] {
  return variationsOf(coordinates, operations).map(rule => {
    const { form } = rule.fault as Extract<Fault, { kind: 'variation' }>
    const item = { fault: withContentName(rule) }
    return placeOf('variation', [rule.on].flat().join(' | '), `variation ${form}`, 'the whole run', item)
  })
}

/**
 * Returns the first request of each operation. Of an operation that changes a thing also the last one, which may set back
 * what an earlier one changed.
 */
function outageStarts(coordinates: readonly Coordinate[], operations: Operations): Coordinate[] {
  const first = firstOfEachOperation(coordinates)
  const last = firstOfEachOperation(coordinates.toReversed()).filter(({ operation, method }) => {
    const isChange = operations[operation]?.roles.some(role => /^(?:update|start|stop) /.test(role))
    return method === 'PUT' || method === 'PATCH' || isChange
  })
  return [...new Set([...first, ...last])]
}

function firstOfEachOperation(coordinates: readonly Coordinate[]): Coordinate[] {
  const seen = new Set<string>()
  return coordinates.filter(({ operation }) => !seen.has(operation) && seen.add(operation))
}
