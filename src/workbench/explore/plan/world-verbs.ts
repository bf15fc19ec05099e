/** Commands to the fleet and the account, each at a change of the world that the client can see. */

import type { Command } from '../../../simulation/operations/commands.ts'
import type { Boundary } from '../run/run-result.ts'
import { OUTAGE } from './items.ts'
import type { PlanItem } from './plan.ts'

/** A command at a boundary of the base run. */
export interface WorldVerb {
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
export function worldVerbsOf(boundaries: readonly Boundary[]): WorldVerb[] {
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
