/** What the end of a client tells: the ids that it keeps. */

import { leavesOf } from '../../../simulator/judge/answers/leaves.ts'
import type { ClientEnd, CreatedThing } from '../../../simulator/judge/observation.ts'
import type { Simulator } from '../../../simulator/simulator.ts'

/**
 * Returns the ids of the created things that the end of a client names: anywhere in its result, or in its error. An adapter
 * has its name in place of an id in the paths of the service, so its name is enough.
 */
export function findOwnedIds(
  end: ClientEnd,
  created: readonly Pick<CreatedThing, 'kind' | 'id'>[],
  { world }: Pick<Simulator, 'world'>,
): ReadonlySet<string> {
  if (created.length === 0 || end.kind === 'unsettled') return new Set()
  const leaves = leavesOf(end.kind === 'returned' ? end.result : end.error)
  const texts = leaves.flatMap(({ place, value }) => [...place, value]).filter(one => typeof one === 'string')
  const words = new Set(texts.flatMap(text => text.split(/[^\w.-]+/)))
  const isNamed = ({ kind, id }: Pick<CreatedThing, 'kind' | 'id'>) => {
    const name = kind === 'adapter' ? world.deployments.get(id)?.model_name.split('/').at(-1) : undefined
    return texts.some(text => text.includes(id)) || (name !== undefined && words.has(name))
  }
  return new Set(created.filter(isNamed).map(({ id }) => id))
}
