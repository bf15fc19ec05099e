/**
 * How a world with a names profile hears and speaks: every place of every endpoint where a neutral word stands, found
 * once in the declarations, so that nothing that a declaration leaves free is ever looked into.
 */
import { parseJsonText } from '../store/json-text.ts'
import type { Sent } from './asked.ts'
import { type AnyEndpoint, type Operations, pathsOf, routeNames } from './endpoint.ts'
import { type Names, refused } from './names.ts'
import { inputShape, outputShape, type Shape } from './shape.ts'
import type { Detail } from './validation.ts'

/** What to do at a place of a body; undefined where nothing below it has to be done. */
interface Turn {
  /** Fields that have another name, or something below them: by their names as they come. */
  readonly fields: ReadonlyMap<string, { readonly name: string; readonly turn: Turn | undefined }>
  /** Names that fall away where the key beside them stands in the same object. */
  readonly yields: ReadonlyMap<string, string>
  readonly rest: Turn | undefined
  readonly items: Turn | undefined
  readonly values: ReadonlyMap<string, string>
  readonly text: ((text: string) => string) | undefined
}

/** One place where bodies go in or out. */
export class Translation {
  readonly #shape: Shape
  readonly #names: Names
  readonly #inward: Turn | undefined
  readonly #outward: Turn | undefined

  constructor(shape: Shape, names: Names) {
    this.#shape = shape
    this.#names = names
    this.#inward = turnOf(shape, names, 'in')
    this.#outward = turnOf(shape, names, 'out')
  }

  /** In neutral words; a neutral word gives way to the user's where both are there. */
  inward(value: unknown): unknown {
    return turned(this.#inward, value)
  }

  /** In the user's words. */
  outward(value: unknown): unknown {
    return turned(this.#outward, value)
  }

  /** The JSON text of something in the user's words. */
  outwardText(text: string): string {
    return this.#outward === undefined ? text : JSON.stringify(this.outward(JSON.parse(text)))
  }

  /** A place in the user's words: fields and positions, from the outside in. */
  spelled(steps: readonly string[]): string[] {
    let at: Shape | undefined = this.#shape
    return steps.map(step => {
      const field: Shape | undefined = at?.fields.get(step)
      at = field ?? (/^\d+$|^\[\]$/.test(step) ? (at?.items ?? at?.rest) : at?.rest)
      return field === undefined ? step : (this.#names.fields.get(step) ?? step)
    })
  }

  /** Texts of a body in neutral words that are the user's own. */
  dataIn(value: unknown): string[] {
    return dataIn(this.#shape, value)
  }
}

/** How one endpoint hears and speaks. */
export class EndpointWords {
  readonly body: Translation | undefined
  readonly returns: Translation
  readonly query: Translation
  readonly params: Translation
  readonly form: Translation | undefined
  readonly names: Names

  constructor({ body, returns, query, params, upload, path }: AnyEndpoint, names: Names) {
    this.names = names
    this.body = body && new Translation(inputShape(body), names)
    this.returns = new Translation(outputShape(returns), names)
    this.query = new Translation(shapeOf(query), names)
    const free = Object.fromEntries(routeNames(path).map(name => [name, undefined]))
    this.params = new Translation(shapeOf({ ...free, ...params }), names)
    this.form = upload && new Translation(shapeOf((upload.fields ?? {}) as AnyEndpoint['query']), names)
  }
  /** Every issue of a 422: its place, and what is said about it. */
  details(issues: readonly Detail[], sent: Sent): Detail[] {
    const data = this.#dataIn(sent)
    return issues.map(({ loc: [place, ...steps], msg, type }) => ({
      loc: [place!, ...this.#spelled(place!, steps)],
      msg: this.names.prose(msg, data),
      type,
    }))
  }

  /** The body of a refusal. */
  refusal(body: unknown, sent: Sent): unknown {
    const data = this.#dataIn(sent)
    const told = (value: unknown): unknown => {
      if (typeof value === 'string') return this.names.prose(value, data)
      if (Array.isArray(value)) return value.map(told)
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, told(inner)]))
    }
    return told(body)
  }

  #spelled(place: string, steps: readonly string[]): readonly string[] {
    if (place === 'header') return steps.map(name => this.names.header(name))
    if (place === 'query') return this.query.spelled(steps)
    return place === 'body' ? ((this.body ?? this.form)?.spelled(steps) ?? steps) : steps
  }

  /** What the client sent and a message may quote. */
  #dataIn({ params, search, text }: Sent): string[] {
    const body = text === undefined ? undefined : parseJsonText(text)
    return [
      ...this.params.dataIn(params),
      ...this.query.dataIn(Object.fromEntries(new URLSearchParams(search))),
      ...(body !== undefined && 'value' in body ? (this.body?.dataIn(this.body.inward(body.value)) ?? []) : []),
    ]
  }
}

/** The paths, and with them the endpoints, of some operations in the words of a profile. */
export class Wording {
  readonly names: Names
  readonly #operations: Operations
  readonly #words = new WeakMap<AnyEndpoint, EndpointWords>()

  /** @throws RangeError when a word of the profile has a meaning already where it would stand */
  constructor(names: Names, operations: Operations) {
    this.names = names
    this.#operations = operations
    const problems = [...this.#pathProblems(), ...this.#placeProblems()]
    if (problems.length > 0) throw refused(names.label, [...new Set(problems)])
  }

  of(endpoint: AnyEndpoint): EndpointWords {
    const known = this.#words.get(endpoint)
    if (known !== undefined) return known
    const made = new EndpointWords(endpoint, this.names)
    this.#words.set(endpoint, made)
    return made
  }

  /** Every path that leads to what is served under this one. */
  paths(path: string): string[] {
    return [...new Set([path, this.names.path(path)])]
  }

  /** A path as it came, in neutral words. */
  neutralPath(path: string, endpoint: Pick<AnyEndpoint, 'path' | 'mirror'>): string {
    // A mirror has a word more than what it mirrors.
    const length = path.split('/').filter(segment => segment !== '').length
    const declared = pathsOf(endpoint).find(one => one.split('/').length === length + 1) ?? endpoint.path
    const named = this.names.path(declared)
    if (named === declared) return path
    const [from, to] = [named.split('/'), declared.split('/')]
    return path
      .split('/')
      .map((segment, i) => (segment === from[i] ? to[i] : segment))
      .join('/')
  }

  /** Header names in the user's words, and their neutral ones beside them. */
  header(read: (name: string) => string | null): (name: string) => string | null {
    const { headers } = this.names
    return name => {
      const named = headers.get(name.toLowerCase())
      return named === undefined ? read(name) : (read(named) ?? read(name))
    }
  }

  /** Whether every path still leads where it did, and no path leads to two things. */
  #pathProblems(): string[] {
    const paths = [
      ...new Set(Object.values(this.#operations as Operations<unknown>).flatMap(one => pathsOf(one as AnyEndpoint))),
    ]
    return paths.flatMap(path => {
      const named = this.names.path(path)
      if (named === path) return []
      const taken = paths.find(
        other => !isOneOf(path, other) && this.paths(other).some(spelled => isOneOf(named, spelled)),
      )
      if (taken === undefined) return []
      const word = [...this.names.paths.keys()].find(one => path.split('/').includes(one))!
      const target = this.names.paths.get(word)
      return [`paths.${word}: '${target}' makes ${path} into ${named}, which is ${taken} already. Give it another.`]
    })
  }

  /** Whether every field and every value still is told from those beside it. */
  #placeProblems(): string[] {
    return Object.entries(this.#operations as Operations<unknown>).flatMap(([operation, one]) => {
      const endpoint = one as AnyEndpoint
      return shapesOf(endpoint).flatMap(shape => this.#problemsIn(shape, operation))
    })
  }

  #problemsIn(shape: Shape, operation: string): string[] {
    const { fields, values, variants } = this.names
    const problems: string[] = []
    for (const name of shape.fields.keys()) {
      const named = fields.get(name)
      if (named !== undefined && shape.fields.has(named)) {
        problems.push(`fields.${name}: '${named}' is a field beside it in ${operation} already. Give it another.`)
      }
    }
    for (const word of shape.words) {
      const named = values.get(word) ?? variants.get(word)
      if (named === undefined || !shape.words.some(other => other === named)) continue
      const place = values.has(word) ? `values.${word}` : `variants.${word.slice(0, word.indexOf('-') + 1)}`
      problems.push(`${place}: '${named}' is a value beside it in ${operation} already. Give it another.`)
    }
    const below = [...shape.fields.values(), shape.rest, shape.items]
    return [...problems, ...below.flatMap(inner => (inner === undefined ? [] : this.#problemsIn(inner, operation)))]
  }
}

/** Whether there is an address that both paths stand for. */
function isOneOf(one: string, other: string): boolean {
  const pattern = (path: string) =>
    path
      .split('/')
      .map(step => {
        if (step === '{model_name}') return '[^/]+(?:/[^/]+)?'
        return step.startsWith('{') ? '[^/]+' : step.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
      })
      .join('/')
  const sample = (path: string) => path.replaceAll(/\{\w+\}/g, 'any')
  return new RegExp(`^${pattern(one)}$`).test(sample(other)) || new RegExp(`^${pattern(other)}$`).test(sample(one))
}

function shapesOf(endpoint: AnyEndpoint): Shape[] {
  const { body, returns, query, params } = endpoint
  return [...(body === undefined ? [] : [inputShape(body)]), outputShape(returns), shapeOf(query), shapeOf(params)]
}

type MaybeFields = Readonly<Record<string, AnyEndpoint['returns'] | undefined>>

/** Query, path and form: texts by name. */
function shapeOf(fields: MaybeFields): Shape {
  const shapes = Object.entries(fields).map(([name, schema]) => [name, schema ? outputShape(schema) : TEXT] as const)
  return { ...TEXT, fields: new Map(shapes) }
}

const TEXT: Shape = {
  fields: new Map(),
  isOpen: false,
  rest: undefined,
  items: undefined,
  words: [],
  holds: undefined,
}

function turnOf(shape: Shape, names: Names, way: 'in' | 'out'): Turn | undefined {
  const fields = new Map<string, { name: string; turn: Turn | undefined }>()
  const yields = new Map<string, string>()
  for (const [neutral, inner] of shape.fields) {
    const turn = turnOf(inner, names, way)
    const named = names.fields.get(neutral)
    if (named === undefined) {
      if (turn !== undefined) fields.set(neutral, { name: neutral, turn })
    } else if (way === 'out') fields.set(neutral, { name: named, turn })
    else {
      fields.set(named, { name: neutral, turn })
      if (turn !== undefined) fields.set(neutral, { name: neutral, turn })
      yields.set(neutral, named)
    }
  }
  const values = new Map<string, string>()
  for (const word of shape.words) {
    const named = names.value(word)
    if (named !== word) values.set(way === 'out' ? word : named, way === 'out' ? named : word)
  }
  const rest = shape.rest && turnOf(shape.rest, names, way)
  const items = shape.items && turnOf(shape.items, names, way)
  const text = way === 'out' ? textTurn(shape, names) : undefined
  const isIdle = fields.size === 0 && values.size === 0 && !rest && !items && !text
  return isIdle ? undefined : { fields, yields, rest, items, values, text }
}

function textTurn({ holds }: Shape, names: Names): ((text: string) => string) | undefined {
  if (holds === 'path') return text => names.path(text)
  return holds === 'message' ? text => names.prose(text) : undefined
}

function turned(turn: Turn | undefined, value: unknown): unknown {
  if (turn === undefined) return value
  if (typeof value === 'string') return turn.text?.(value) ?? turn.values.get(value) ?? value
  if (Array.isArray(value)) return turn.items === undefined ? value : value.map(entry => turned(turn.items, entry))
  if (typeof value !== 'object' || value === null) return value
  const entries: [string, unknown][] = []
  for (const [key, inner] of Object.entries(value)) {
    const rival = turn.yields.get(key)
    if (rival !== undefined && Object.hasOwn(value, rival)) continue
    const field = turn.fields.get(key)
    entries.push(field === undefined ? [key, turned(turn.rest, inner)] : [field.name, turned(field.turn, inner)])
  }
  // Whatever a key is called, it becomes a field of its own.
  return Object.fromEntries(entries)
}

function dataIn(shape: Shape | undefined, value: unknown): string[] {
  // What is no word where one is wanted is quoted by nobody.
  if (typeof value === 'string') return shape !== undefined && shape.words.length > 0 ? [] : [value]
  if (Array.isArray(value)) return value.flatMap(entry => dataIn(shape?.items, entry))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const field = shape?.fields.get(key)
    // The name of a field that nobody declares is the user's own.
    return field === undefined ? [key, ...dataIn(shape?.rest, inner)] : dataIn(field, inner)
  })
}
