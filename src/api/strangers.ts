/** What a client sends that nothing reads: for worlds that are strict about it. */
import type { AnyEndpoint } from './endpoint.ts'
import { parseBody } from './json-body.ts'
import { inputShape, type Shape } from './shape.ts'
import { type Detail, notPermitted } from './validation.ts'
import type { EndpointWords } from './wording.ts'

/** A request, as far as there is something to read. */
export interface Readable {
  readonly search: string
  readonly text?: string | undefined
  readonly form?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Query parameters and fields of the body that no declaration names, each with the name that was meant. What is free
 * by its declaration, `metadata` and schemas of tools, has no strangers.
 *
 * @param hears names that the world has for some: both are known, and a neutral one beside its own is as if it were not there
 */
export function strangersIn(endpoint: AnyEndpoint, sent: Readable, hears: EndpointWords | undefined): Detail[] {
  const { fields: names } = hears?.names ?? { fields: NO_NAMES }
  const query = known(Object.keys(endpoint.query), names)
  const found = [...new Set(new URLSearchParams(sent.search).keys())]
    .filter(name => !query.includes(name))
    .map(name => stranger(['query', name], query))
  if (sent.form !== undefined) {
    const form = known(Object.keys(endpoint.upload?.fields ?? {}), names)
    const more = Object.keys(sent.form).filter(name => !form.includes(name))
    return [...found, ...more.map(name => stranger(['body', name], [...form, 'file']))]
  }
  if (sent.text === undefined || endpoint.body === undefined) return found
  const parsed = parseBody(sent.text)
  if ('value' in parsed) found.push(...inBody(inputShape(endpoint.body), parsed.value, ['body'], names))
  return found
}

/** Fields of a body in the neutral words that no declaration names. */
export function strangersInBody({ body }: AnyEndpoint, value: unknown): Detail[] {
  return body === undefined ? [] : inBody(inputShape(body), value, ['body'], NO_NAMES)
}

const NO_NAMES: ReadonlyMap<string, string> = new Map()

function inBody(shape: Shape, value: unknown, loc: readonly string[], names: ReadonlyMap<string, string>): Detail[] {
  if (Array.isArray(value)) {
    const { items } = shape
    return items === undefined ? [] : value.flatMap((entry, i) => inBody(items, entry, [...loc, String(i)], names))
  }
  if (typeof value !== 'object' || value === null || (shape.fields.size === 0 && shape.rest === undefined)) return []
  const fields = new Map<string, Shape>()
  for (const [name, inner] of shape.fields) {
    const named = names.get(name)
    if (named !== undefined) fields.set(named, inner)
    if (named === undefined || !Object.hasOwn(value, named)) fields.set(name, inner)
  }
  const told = known([...shape.fields.keys()], names, true)
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = fields.get(name) ?? shape.rest
    if (field !== undefined) return inBody(field, inner, [...loc, name], names)
    const isBesideItsOwn = shape.fields.has(name)
    return shape.isOpen || isBesideItsOwn ? [] : [stranger([...loc, name], told)]
  })
}

/** The names that a place takes: those of the world, and the neutral ones beside them unless only they are wanted. */
function known(fields: readonly string[], names: ReadonlyMap<string, string>, ownAlone = false): string[] {
  return fields.flatMap(name => {
    const named = names.get(name)
    if (named === undefined) return [name]
    return ownAlone ? [named] : [named, name]
  })
}

function stranger(loc: string[], taken: readonly string[]): Detail {
  return { loc, ...notPermitted(loc.at(-1)!, taken) }
}
