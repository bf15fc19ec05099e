/** Checks of options that name a kind of value. The parts of the simulator check what is in it. */
import * as z from 'zod'

export const NamedOrObject = z.custom(value => typeof value === 'string' || isObject(value), {
  error: 'a name, a path, or an object',
})
export const PlainObject = z.custom(isObject, { error: 'an object' })
export const List = z.custom(Array.isArray, { error: 'a list' })

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
