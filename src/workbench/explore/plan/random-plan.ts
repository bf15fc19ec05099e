/** Random plans: some faults of a space, with some features left out (swarm testing, Groce et al., ISSTA 2012). */

import type { Choices } from './choices.ts'
import { anyRequestItem, laterItem } from './items.ts'
import { type Plan, type PlanItem, withoutRepeats } from './plan.ts'
import { type Place, type Point, pickPoint, placeOfClasses, type Space } from './space.ts'

/** Numbers of items of a plan. Few items find what is rare alone, many find what needs company. */
const SIZES = [1, 2, 3, 4, 6, 8, 12, 16]
/** How far a fault moves to later requests of its subject: earlier faults lead to retries. */
const SHIFTS = [0, 0, 0, 1, 2, 4]
/** Most crashes of a plan. Each starts the flow again. */
const MAX_CRASHES = 2
/** Most places that are counted over all requests. */
const MAX_POSITIONS = 60

/** Makes random plans in a space. */
export class RandomPlans {
  /** The kinds of the space without the points that no client can survive. */
  readonly #kinds: Space['kinds']
  /** What a plan can be without: classes of faults, outages, commands, crashes. */
  readonly #features: readonly string[]

  constructor(space: Space) {
    const anywhere = { kind: 'request' as const, places: placesAnywhere(space) }
    const isDrawn = ({ kind, maySurface }: Point) => kind !== 'variation' && maySurface === undefined
    this.#kinds = restrict([...space.kinds, anywhere], isDrawn)
    const points = this.#kinds.flatMap(({ places }) => places.flatMap(place => place.points))
    this.#features = [...new Set(points.map(featureOf))]
  }

  /**
   * Returns a plan; an empty one if the space has no point. Each feature is left out of about half of the plans, because
   * one that always acts can hide what the others would do.
   */
  plan(choices: Choices): Plan {
    const present = new Set(this.#features.filter(feature => choices.pick(`with ${feature}`, [false, true])))
    const kinds = restrict(this.#kinds, point => present.has(featureOf(point)))
    if (kinds.length === 0) return []
    const size = choices.pick('size', SIZES)
    const items: PlanItem[] = []
    for (let i = 0; i < size; i++) {
      const { item } = pickPoint(choices, { kinds })
      items.push(laterItem(item, choices.pick('later', SHIFTS)))
    }
    const crashes = items.filter(item => 'crash' in item)
    return withoutRepeats(items.filter(item => !('crash' in item) || crashes.indexOf(item) < MAX_CRASHES))
  }
}

/** Returns the places that are counted over all requests. They reach the requests that only faults lead to. */
function placesAnywhere({ requests, classes: all }: Space): Place[] {
  const classes = all.filter(({ firstOf }) => firstOf === undefined)
  const count = Math.min(MAX_POSITIONS, Math.ceil(requests * 1.5))
  return Array.from({ length: count }, (_, index) => {
    const nth = index + 1
    const where = { kind: 'request', operation: '*', place: `request ${nth}`, index: nth, visibleStatus: '' } as const
    return placeOfClasses(where, classes, faultClass => ({ item: anyRequestItem(nth, faultClass) }))
  })
}

function featureOf({ kind, class: name }: Point): string {
  return kind === 'outage' ? 'outage' : name
}

function restrict(kinds: Space['kinds'], keep: (point: Point) => boolean): Space['kinds'] {
  return kinds
    .map(({ kind, places }) => ({
      kind,
      places: places
        .map(({ name, points }) => ({ name, points: points.filter(keep) }))
        .filter(({ points }) => points.length > 0),
    }))
    .filter(({ places }) => places.length > 0)
}
