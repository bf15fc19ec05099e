/** What a client sends that nothing reads: for worlds that are strict about it. */
import type { AnyEndpoint } from './endpoint.ts'
import { parseBody } from './json-body.ts'
import { inputShape, type Shape } from './shape.ts'
import { Details, notPermitted } from './validation.ts'
import type { EndpointWords } from './wording.ts'

/** What nothing reads, by place. */
export interface Strangers {
  readonly query: Details
  readonly body: Details
}

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
export function strangersIn(endpoint: AnyEndpoint, sent: Readable, hears: EndpointWords | undefined): Strangers {
  const { fields: names } = hears?.names ?? { fields: NO_NAMES }
  const query = known(Object.keys(endpoint.query), names)
  const found = { query: new Details(), body: new Details() }
  for (const name of new Set(new URLSearchParams(sent.search).keys())) {
    if (!query.includes(name)) add(found.query, ['query', name], query)
  }
  if (sent.form !== undefined) {
    const form = known(Object.keys(endpoint.upload?.fields ?? {}), names)
    for (const name of Object.keys(sent.form)) {
      if (!form.includes(name)) add(found.body, ['body', name], [...form, 'file'])
    }
    return found
  }
  if (sent.text === undefined || endpoint.body === undefined) return found
  const parsed = parseBody(sent.text)
  if ('value' in parsed) addFromBody(found.body, inputShape(endpoint.body), parsed.value, ['body'], names)
  return found
}

/** Adds the fields of a body in the neutral words that no declaration names. */
export function addStrangersInBody(into: Details, { body }: AnyEndpoint, value: unknown): void {
  if (body !== undefined) addFromBody(into, inputShape(body), value, ['body'], NO_NAMES)
}

const NO_NAMES: ReadonlyMap<string, string> = new Map()

function addFromBody(
  into: Details,
  shape: Shape,
  value: unknown,
  loc: readonly string[],
  names: ReadonlyMap<string, string>,
): void {
  if (Array.isArray(value)) {
    const { items } = shape
    if (items === undefined) return
    for (const [i, entry] of value.entries()) addFromBody(into, items, entry, [...loc, String(i)], names)
    return
  }
  if (typeof value !== 'object' || value === null || (shape.fields.size === 0 && shape.rest === undefined)) return
  const fields = new Map<string, Shape>()
  for (const [name, inner] of shape.fields) {
    const named = names.get(name)
    if (named !== undefined) fields.set(named, inner)
    if (named === undefined || !Object.hasOwn(value, named)) fields.set(name, inner)
  }
  const told = known([...shape.fields.keys()], names, true)
  for (const [name, inner] of Object.entries(value)) {
    const field = fields.get(name) ?? shape.rest
    const isBesideItsOwn = shape.fields.has(name)
    if (field !== undefined) addFromBody(into, field, inner, [...loc, name], names)
    else if (!shape.isOpen && !isBesideItsOwn) add(into, [...loc, name], told)
  }
}

/** The names that a place takes: those of the world, and the neutral ones beside them unless only they are wanted. */
function known(fields: readonly string[], names: ReadonlyMap<string, string>, ownAlone = false): string[] {
  return fields.flatMap(name => {
    const named = names.get(name)
    if (named === undefined) return [name]
    return ownAlone ? [named] : [named, name]
  })
}

function add(into: Details, loc: string[], taken: readonly string[]): void {
  into.add(loc, () => notPermitted(loc.at(-1)!, taken))
}
