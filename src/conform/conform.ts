/** The simulator's answers against an OpenAPI document of somebody else. */
import type { AnyEndpoint, Operations } from '../api/endpoint.ts'
import { routeNames } from '../api/endpoint.ts'
import { exampleOf } from '../api/examples.ts'
import type { NamesProfile } from '../api/names.ts'
import { nearest } from '../kernel/nearest.ts'
import { createSimulator, type Simulator } from '../simulator.ts'
import { Bodies } from './bodies.ts'
import { type DocumentOperation, jsonSchemaOf, mediaOf, OpenapiDocument, objectOf, type Part } from './document.ts'
import { type Difference, differences } from './schemas.ts'

/**
 * Something in which the simulator is not what the document says.
 *
 * `break`: a client that was written for the document fails. `warning`: it may. `note`: there is more than it knows of.
 */
export interface Finding {
  readonly severity: 'break' | 'warning' | 'note'
  readonly kind: 'path' | 'method' | 'parameter' | 'field' | 'type' | 'value' | 'status' | 'media'
  /** As the document has it: `GET /deploy/list`. */
  readonly operation: string
  /** What is concerned: `answer 200, [].status`. */
  readonly place: string
  /** Where the document says it, a JSON pointer. */
  readonly pointer: string
  /** What the document says. */
  readonly says: string
  /** What the simulator does. */
  readonly ours: string
}

export interface Conformance {
  readonly findings: readonly Finding[]
  /** Operations of the document, and how many of them are served. */
  readonly operations: number
  readonly served: number
  /** Requests that were asked. */
  readonly requests: number
  /** Operations that are served and that the document does not have. */
  readonly beyond: readonly string[]
}

const SEVERITIES = ['break', 'warning', 'note'] as const
const NOBODY = 'none-of-the-kind'

/**
 * Asks every operation of a document of a world in this process, for a success and for refusals, and holds what comes
 * back against the document; parameters and fields are compared by what both documents say, too.
 *
 * @param document the parsed document
 * @throws DocumentError for a document that could not be looked at
 */
export async function conform(document: unknown, options: { names?: NamesProfile } = {}): Promise<Conformance> {
  const theirs = new OpenapiDocument(document)
  const sim = createSimulator({ seed: 1, ...options })
  const ours = new OpenapiDocument(await (await sim.fetch('http://sim/openapi.json')).json())
  const check = new Check(theirs, ours, sim)
  for (const operation of theirs.operations) await check.operation(operation)
  const findings = [...check.findings].sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity))
  return {
    findings,
    operations: theirs.operations.length,
    served: check.served.size,
    requests: check.requests,
    beyond: ours.operations.filter(one => !check.served.has(one.name)).map(({ name }) => name),
  }
}

class Check {
  readonly findings: Finding[] = []
  /** Operations of ours that the document has. */
  readonly served = new Set<string>()
  requests = 0
  readonly #theirs: OpenapiDocument
  readonly #ours: OpenapiDocument
  readonly #sim: Simulator
  readonly #bodies: Bodies

  constructor(theirs: OpenapiDocument, ours: OpenapiDocument, sim: Simulator) {
    this.#theirs = theirs
    this.#ours = ours
    this.#sim = sim
    this.#bodies = new Bodies(theirs)
  }

  async operation(theirs: DocumentOperation): Promise<void> {
    const found = this.#found(theirs)
    if (found === undefined) return
    this.served.add(found.name)
    const told: Finding[] = []
    const tell = (finding: Omit<Finding, 'operation'>) => told.push({ ...finding, operation: theirs.name })
    await this.#asked(theirs, found, tell)
    this.#parameters(theirs, found, tell)
    this.#requestBody(theirs, found, tell)
    this.#responses(theirs, found, tell)
    // What was seen in an answer need not be told of its schema again.
    const seen = new Set<string>()
    for (const finding of told) {
      const key = `${finding.place} ${finding.kind === 'value' ? 'type' : finding.kind}`
      if (!seen.has(key)) this.findings.push(finding)
      seen.add(key)
    }
  }

  /** Ours by its path, whatever its parameters are called. */
  #found(theirs: DocumentOperation): DocumentOperation | undefined {
    const paths = [theirs.path, `${this.#theirs.base}${theirs.path}`]
    const same = this.#ours.operations.filter(({ path }) => paths.some(one => isSamePath(one, path)))
    const found = same.find(({ method }) => method === theirs.method)
    if (found !== undefined) return found
    const at = { operation: theirs.name, place: 'the path', pointer: theirs.at.pointer, severity: 'break' as const }
    if (same.length > 0) {
      const methods = same.map(({ method }) => method).join(', ')
      this.findings.push({
        ...at,
        kind: 'method',
        says: `${theirs.method} is served`,
        ours: `it takes ${methods} alone`,
      })
      return undefined
    }
    const meant = nearest(theirs.path, new Set(this.#ours.operations.map(({ path }) => path)))
    const ours = `there is no such path${meant === undefined ? '' : `; the nearest is ${meant}`}`
    this.findings.push({ ...at, kind: 'path', says: 'it is served', ours })
    return undefined
  }

  /** Asks for a success, and for what every endpoint of its kind refuses. */
  async #asked(theirs: DocumentOperation, found: DocumentOperation, tell: Tell): Promise<void> {
    const unlisted = new Set<number>()
    for (const answer of await this.#answersOf(found)) {
      this.requests++
      const response = responseFor(theirs, answer.status)
      if (response === undefined) {
        if (answer.status === 200) {
          const listed = [...theirs.responses.keys()].join(', ') || 'none'
          tell({
            ...{ severity: 'break', kind: 'status', place: 'answer 200', pointer: theirs.at.pointer },
            ...{ says: `answers are ${listed}`, ours: '200' },
          })
        } else unlisted.add(answer.status)
        continue
      }
      await this.#answer(answer, response, tell)
    }
    for (const status of found.responses.keys()) {
      const code = Number(status)
      if (code >= 400 && responseFor(theirs, code) === undefined) unlisted.add(code)
    }
    // One finding for all of them: most documents list few refusals.
    const codes = [...unlisted].sort((a, b) => a - b)
    if (codes.length === 0) return
    const listed = [...theirs.responses.keys()].join(', ')
    tell({
      ...{ severity: 'warning', kind: 'status', place: 'refusals', pointer: `${theirs.at.pointer}/responses` },
      ...{ says: `answers are ${listed}`, ours: `it may be ${codes.join(', ')}` },
    })
  }

  async #answer(answer: Response, response: Part, tell: Tell): Promise<void> {
    const place = `answer ${answer.status}`
    const media = mediaOf(response)
    const type = (answer.headers.get('content-type') ?? '').split(';', 1)[0]!
    const text = await answer.text()
    if (media.length > 0 && !media.some(one => isMedia(one, type))) {
      const severity = 'break'
      const pointer = `${response.pointer}/content`
      tell({ severity, kind: 'media', place, pointer, says: `the content is ${media.join(' or ')}`, ours: type })
      return
    }
    const schema = jsonSchemaOf(this.#theirs, response)
    if (schema === undefined || !/json/.test(type)) return
    for (const breach of this.#bodies.breaches(schema, JSON.parse(text))) tell(placed(breach, place))
  }

  #parameters(theirs: DocumentOperation, found: DocumentOperation, tell: Tell): void {
    const [one, other] = [theirs, found].map(({ parameters }) => parameters.filter(({ value }) => value.in !== 'path'))
    const isHeld = ({ value }: Part) =>
      value.in === 'header' && /^(authorization|accept|content-type)$/i.test(String(value.name))
    for (const parameter of one!.filter(part => !isHeld(part))) {
      const { name, in: place, required } = parameter.value
      const at = { kind: 'parameter' as const, place: `${place} ${name}`, pointer: parameter.pointer }
      const same = other!.find(({ value }) => value.in === place && sameName(value, parameter.value))
      if (same === undefined) {
        if (place !== 'cookie') tell({ ...at, severity: 'warning', says: 'it may be given', ours: 'it is ignored' })
        continue
      }
      if (same.value.required === true && required !== true) {
        tell({ ...at, severity: 'break', says: 'it may be left out', ours: 'without it the request is refused' })
      }
      const [theirSchema, ourSchema] = [this.#theirs.below(parameter, 'schema'), this.#ours.below(same, 'schema')]
      if (theirSchema === undefined || ourSchema === undefined) continue
      const sides = [
        { document: this.#theirs, schema: theirSchema },
        { document: this.#ours, schema: ourSchema },
      ] as const
      for (const difference of differences(sides[0], sides[1], 'asked')) {
        // In an address everything is text, and null is to leave it out.
        if (difference.kind === 'type' && isTextual(difference)) continue
        tell({ ...difference, place: at.place })
      }
    }
    for (const { value } of other!) {
      if (value.required !== true || one!.some(part => part.value.in === value.in && sameName(part.value, value)))
        continue
      const at = {
        severity: 'break',
        kind: 'parameter',
        place: `${value.in} ${value.name}`,
        pointer: theirs.at.pointer,
      } as const
      tell({ ...at, says: 'nothing of it', ours: 'without it the request is refused' })
    }
  }

  #requestBody(theirs: DocumentOperation, found: DocumentOperation, tell: Tell): void {
    const [one, other] = [theirs.body, found.body]
    if (one === undefined || other === undefined) {
      if (one === undefined && other?.value.required !== true) return
      const at = { kind: 'field', place: 'the body', pointer: one?.pointer ?? theirs.at.pointer } as const
      if (one === undefined)
        tell({ ...at, severity: 'break', says: 'there is none', ours: 'without one the request is refused' })
      else tell({ ...at, severity: 'warning', says: 'there is one', ours: 'it is not read' })
      return
    }
    const media = mediaOf(one).find(type => mediaOf(other).includes(type))
    if (media === undefined) {
      const at = { severity: 'break', kind: 'media', place: 'the body', pointer: `${one.pointer}/content` } as const
      tell({ ...at, says: `it is ${mediaOf(one).join(' or ')}`, ours: `it is ${mediaOf(other).join(' or ')}` })
      return
    }
    this.#compare('asked', [one, other], media, 'request', tell)
  }

  #responses(theirs: DocumentOperation, found: DocumentOperation, tell: Tell): void {
    for (const [status, ours] of found.responses) {
      const response = responseFor(theirs, Number(status))
      const media = response && mediaOf(response).find(type => mediaOf(ours).includes(type))
      if (response && media) this.#compare('answered', [response, ours], media, `answer ${status}`, tell)
    }
    for (const [status, { pointer }] of theirs.responses) {
      // Another success in the place of ours is told already.
      const isTold = status.startsWith('2') && responseFor(theirs, 200) === undefined
      if (!/^\d+$/.test(status) || found.responses.has(status) || isTold) continue
      const says = `${status} is an answer`
      tell({ severity: 'note', kind: 'status', place: `answer ${status}`, pointer, says, ours: 'it is never given' })
    }
  }

  #compare(way: 'asked' | 'answered', parts: readonly [Part, Part], media: string, place: string, tell: Tell): void {
    const theirs = this.#theirs.below(parts[0], 'content', media, 'schema')
    const ours = this.#ours.below(parts[1], 'content', media, 'schema')
    if (theirs === undefined || ours === undefined) return
    const sides = [
      { document: this.#theirs, schema: theirs },
      { document: this.#ours, schema: ours },
    ] as const
    for (const difference of differences(sides[0], sides[1], way)) tell(placed(difference, place))
  }

  /** What a world as it begins answers to each. */
  async #answersOf(found: DocumentOperation): Promise<Response[]> {
    const operations = this.#sim.api.operations as Operations
    const mirrored = found.at.value['x-mirror-of']
    const operation = String(mirrored ?? found.at.value.operationId)
    const endpoint = operations[operation] as AnyEndpoint
    const changes: Change[] = [{}]
    if (endpoint.auth === 'token') changes.push({ headers: { authorization: '' } })
    if (routeNames(endpoint.path).length > 0) changes.push({ path: endpoint.path.replaceAll(/\{\w+\}/g, NOBODY) })
    if (endpoint.body !== undefined) changes.push({ body: '"text"' })
    if (Object.values(endpoint.query).some(schema => !schema.safeParse(undefined).success)) changes.push({ search: '' })
    return Promise.all(
      changes.map(async change => {
        const sim = this.#sim.fork()
        const usual = await exampleOf(operations, operation, sim.fetch, { baseUrl: 'http://sim', token: sim.token })
        const request = altered(usual, change)
        return sim.fetch(mirrored === undefined ? request : altered(request, { path: mirrorOf(endpoint, request) }))
      }),
    )
  }
}

type Tell = (finding: Omit<Finding, 'operation'>) => void

function placed(difference: Difference, place: string): Omit<Finding, 'operation'> {
  return { ...difference, place: `${place}, ${difference.place}` }
}

/** The path of a request where its endpoint is served a second time. */
function mirrorOf({ path, mirror }: AnyEndpoint, request: Request): string {
  const [home, second] = [path, mirror!].map(one => one.split('/{', 1)[0]!)
  return new URL(request.url).pathname.replace(home!, second!)
}

/** What a request has in place of what its example has. */
interface Change {
  readonly path?: string
  readonly search?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

function altered(usual: Request, change: Change): Request {
  const url = new URL(usual.url)
  url.pathname = change.path ?? url.pathname
  url.search = change.search ?? url.search
  const content = change.body ?? usual.body
  return new Request(url, {
    method: usual.method,
    headers: { ...Object.fromEntries(usual.headers), ...change.headers },
    ...(content !== null && { body: content, duplex: 'half' }),
  } as RequestInit)
}

/** Literal words are the same, parameters may have any names; a name of a model may hold a slash. */
function isSamePath(theirs: string, ours: string): boolean {
  const pattern = ours
    .split('/')
    .map(step => {
      if (step === '{model_name}') return '\\{[^/]+\\}(?:/\\{[^/]+\\})?'
      return step.startsWith('{') ? '\\{[^/]+\\}' : step.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    })
    .join('/')
  return new RegExp(`^${pattern}/?$`).test(theirs)
}

function responseFor({ responses }: DocumentOperation, status: number): Part | undefined {
  return responses.get(String(status)) ?? responses.get(`${Math.floor(status / 100)}XX`) ?? responses.get('default')
}

function isMedia(declared: string, type: string): boolean {
  const plain = declared.split(';', 1)[0]!.trim().toLowerCase()
  return plain === '*/*' || plain === type || (plain.endsWith('/*') && type.startsWith(plain.slice(0, -1)))
}

function sameName(one: Part['value'], other: Part['value']): boolean {
  const [a, b] = [String(one.name), String(other.name)]
  return one.in === 'header' ? a.toLowerCase() === b.toLowerCase() : a === b
}

function isTextual({ says, ours }: Difference): boolean {
  const types = (text: string) => text.split(' or ').filter(type => type !== 'null')
  return types(ours).includes('string') || types(says).some(type => types(ours).includes(type))
}

/** The information of a document, for the head of a report. */
export function titleOf(document: unknown): string {
  const { title, version } = objectOf(objectOf(document).info)
  return [title, version].filter(one => typeof one === 'string').join(' ') || 'the document'
}
