/** Which things of a world a request is about. */

import { attempt } from '../../lib/errors.ts'
import { OPERATIONS } from '../../service/declarations.ts'
import type { Exchange } from '../../service/http/exchange.ts'
import type { Routes } from '../../service/operation-table.ts'
import { findModelTarget } from '../../simulation/deployments/model-lookup.ts'
import type { World } from '../../simulation/world.ts'

/** The longest text of a request that can be an id or a name, in characters. */
const MAX_WORD = 300
/** The most values of a body that are read. */
const MAX_VALUES = 2_000
const MAX_DEPTH = 8

/**
 * Returns the ids of things that a request names in its path, its query or its body, and then those that it created or
 * changed. The name of a model that a deployment of the account serves gives the id of that deployment.
 */
export function subjectsOf(
  world: World,
  { operation, path, seq, lastSeq }: Exchange,
  body: unknown,
): readonly string[] {
  const subjects = new Set<string>()
  for (const word of wordsOfPath(operation, path)) addThings(world, word, subjects)
  let values = 0
  const visit = (value: unknown, depth: number): void => {
    if (++values > MAX_VALUES) return
    if (typeof value === 'string') addThings(world, value, subjects)
    else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH) {
      for (const child of Object.values(value)) visit(child, depth + 1)
    }
  }
  if (typeof body === 'object') visit(body, 0)
  if (seq !== undefined && lastSeq > seq) {
    for (const { kind, cause, subject } of world.journal.entries(seq, lastSeq)) {
      if (cause === seq && kind !== 'request') subjects.add(subject)
    }
  }
  return [...subjects]
}

function addThings(world: World, word: string, subjects: Set<string>): void {
  if (word === '' || word.length > MAX_WORD) return
  const { deployments } = world
  if (isThing(world, word)) {
    subjects.add(word)
    return
  }
  const target = findModelTarget(world, word, true)
  if (target === undefined) return
  const rows = target.kind === 'own' ? [target.adapter, target.deployment] : [target.adapter ?? target.row]
  for (const ordinal of rows) if (ordinal !== undefined) subjects.add(deployments.read(ordinal).id)
  if (target.kind === 'catalog') subjects.add(target.name)
}

/** Tells whether a word is the id of a thing of a world. */
export function isThing(
  { deployments, rentals, nodes, batches, files, store, ownRecords }: World,
  word: string,
): boolean {
  return (
    deployments.ordinalOf(word) !== undefined ||
    rentals.ordinalOf(word) !== undefined ||
    nodes.ordinalOf(word) !== undefined ||
    batches.get(word) !== undefined ||
    files.get(word) !== undefined ||
    store.tokens.has(word) ||
    store.voices.has(word) ||
    store.sshKeys.has(word) ||
    ownRecords.findRow(word) !== undefined
  )
}

/** Returns what names something in a path and its query. The words of the route itself, such as `chat`, name nothing. */
function wordsOfPath(operation: string, target: string): string[] {
  const { [operation]: route }: Routes = OPERATIONS
  if (target === route?.path || target === route?.mirror) return []
  const [path = '', query = ''] = target.split(/\?(.*)/s)
  const wordsOfRoute = `${route?.path}/${route?.mirror}`.split('/')
  return [...namesInPath(path, new Set(wordsOfRoute)), ...new URLSearchParams(query).values()]
}

/** Returns the segments of a path without the words of its route, and each two of them as the name of a model can have. */
export function namesInPath(path: string, wordsOfRoute: ReadonlySet<string>): string[] {
  const segments = path
    .split('/')
    .filter(segment => segment !== '' && !wordsOfRoute.has(segment))
    .map(segment => attempt(() => decodeURIComponent(segment)) ?? segment)
  const pairs = segments.slice(1).map((segment, i) => `${segments[i]}/${segment}`)
  return [...segments, ...pairs]
}
