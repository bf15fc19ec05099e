/** Commands to the fleet and the account, each at a change of the world that the client can see. */

import type { Command } from '../../simulation/operations/commands.ts'
import type { Boundary } from '../run/run-result.ts'
import { OUTAGE } from './items.ts'
import type { PlanItem } from './plan.ts'

/** A command at a boundary of the base run. */
export interface WorldVerb {
  /** What it does, as in `node.crash`. */
  readonly verb: string
  /** The kind of the boundary, as in `deployment.running`; `start` for the begin of the flow. */
  readonly when: string
  /** The place in words, as in `deployment.running of a1`. */
  readonly place: string
  readonly item: PlanItem
}

interface VerbRule {
  /** Boundaries of these kinds. */
  readonly kinds: readonly string[]
  /** Returns the command; undefined if the boundary has no target for it. */
  command(boundary: Boundary): Command | undefined
  /** Whether it strikes when the flow begins, before the boundary. */
  readonly isAtStart?: true
  /** Whether it ends after the time of an outage. What has no undoing, or is the point, lasts. */
  readonly isOutage?: true
}

const crashNode = ({ node }: Boundary): Command | undefined =>
  node === undefined ? undefined : { verb: 'node.crash', target: node }

/** In the order in which they are tried. A loss of a node before and after the start of serving are different cases. */
const RULES: readonly VerbRule[] = [
  {
    kinds: ['deployment.initializing', 'deployment.downloading', 'deployment.deploying', 'container.starting'],
    command: crashNode,
    isOutage: true,
  },
  { kinds: ['deployment.running', 'container.running', 'batch.in_progress'], command: crashNode, isOutage: true },
  {
    kinds: ['deployment.created', 'deployment.initializing', 'container.created'],
    command: ({ gpu }) => (gpu === undefined ? undefined : { verb: 'pool.stockOut', target: gpu }),
    isAtStart: true,
    isOutage: true,
  },
  {
    kinds: ['deployment.running', 'hosted.running', 'container.running', 'batch.in_progress'],
    command: () => ({ verb: 'funds.set', args: { usd: 0 } }),
  },
  { kinds: ['deployment.downloading'], command: () => ({ verb: 'hub.down' }), isOutage: true },
  { kinds: ['container.starting'], command: () => ({ verb: 'registry.down' }), isOutage: true },
  { kinds: ['hosted.running'], command: ({ subject }) => ({ verb: 'hosted.crash', target: subject }) },
]

/**
 * Returns one command for each boundary and rule. The anchors name the boundary by kind, subject and count, so they stay
 * true when other items of a plan come or go. A stock-out before the create strikes once for each GPU type.
 */
export function worldVerbsOf(boundaries: readonly Boundary[]): WorldVerb[] {
  const verbs = new Map<string, WorldVerb>()
  for (const { kinds, command: commandOf, isAtStart, isOutage } of RULES) {
    for (const boundary of boundaries) {
      const command = kinds.includes(boundary.kind) ? commandOf(boundary) : undefined
      if (command === undefined) continue
      const { kind, subject, nth } = boundary
      const after = isAtStart ? { kind: 'start' } : { kind, subject, nth }
      const item: PlanItem = { command, after, ...(isOutage && { for: OUTAGE }) }
      const place = isAtStart ? `start, ${command.target}` : `${kind} of ${subject}`
      verbs.set(JSON.stringify(item), { verb: command.verb, when: after.kind, place, item })
    }
  }
  return [...verbs.values()]
}
