/** The functions of a flow that read its result: which ids it keeps, and which batch lines it returns. */

import { quote } from '../../../lib/quote.ts'
import type { FlowOptions } from '../flow.ts'
import { InvariantThrew } from './verdict.ts'

/** Returns the ids that `own` finds in a result. Throws InvariantThrew if it throws or returns something else. */
export function readOwn(own: NonNullable<FlowOptions['own']>, result: unknown): readonly string[] {
  const isId = (value: unknown) => typeof value === 'string'
  return readList('own', own, result, isId, 'a list of ids') as string[]
}

/** Returns the batch lines that `lines` finds in a result. Throws InvariantThrew as `readOwn` does. */
export function readOwnLines(lines: NonNullable<FlowOptions['lines']>, result: unknown): readonly unknown[] {
  const isLine = (value: unknown) => typeof value === 'object' && value !== null
  return readList('lines', lines, result, isLine, 'a list of objects with custom_id')
}

/** Returns whether a flow says that its result tells of a loss. Throws InvariantThrew as `readOwn` does. */
export function readTells(tells: NonNullable<FlowOptions['tells']>, result: unknown): boolean {
  const list = () => {
    const found: unknown = tells(result as never)
    return typeof found === 'boolean' ? [found] : found
  }
  const [first] = readList('tells', list, result, () => true, 'true, false or a list of what is missing')
  return first !== undefined && first !== false
}

function readList(
  name: 'own' | 'lines' | 'tells',
  read: (result: never) => unknown,
  result: unknown,
  isItem: (value: unknown) => boolean,
  form: string,
): readonly unknown[] {
  let found: unknown
  try {
    found = read(result as never)
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : quote(cause)
    throw new InvariantThrew(`Failed to read the result of the flow: ${name} threw ${quote(text)}. Return ${form}.`, {
      cause,
    })
  }
  if (Array.isArray(found) && found.every(isItem)) return found
  throw new InvariantThrew(
    `Failed to read the result of the flow: ${name} returned ${quote(found)}. Return ${form}; an empty one for none.`,
  )
}
