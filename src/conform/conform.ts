/** The simulator's answers against an OpenAPI document of somebody else. */

import { nearestWord } from '../lib/did-you-mean.ts'
import { escapeRegExp } from '../lib/escape-regexp.ts'
import type { AnyEndpoint, Operations } from '../service/endpoint.ts'
import type { NamesProfile } from '../service/naming/names-profile.ts'
import { createExampleRequest } from '../service/openapi/examples.ts'
import { createSimulator, type Simulator } from '../simulator/simulator.ts'
import { BodyValidator } from './bodies.ts'
import {
  contentOf,
  type DocumentOperation,
  type DocumentPart,
  jsonSchemaOf,
  matchesMediaType,
  mediaTypesOf,
  OpenapiDocument,
  toObject,
} from './document.ts'
import { applyChange, type Probe, probesOf } from './probes.ts'
import { compareSchemas, type SchemaDifference } from './schemas.ts'
import { EVENT_STREAM, eventForms, eventSchemaOf, findStreamDifferences } from './streams.ts'

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
  /** The statuses that these were answered with, by operation: what of each was judged. */
  readonly answers: Readonly<Record<string, readonly number[]>>
  /** Operations that are served and that the document does not have. */
  readonly beyond: readonly string[]
}

const SEVERITIES = ['break', 'warning', 'note'] as const

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
  const check = new ConformanceCheck(theirs, ours, sim)
  for (const operation of theirs.operations) await check.checkOperation(operation)
  const findings = [...check.findings].sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity))
  return {
    findings,
    operations: theirs.operations.length,
    served: check.served.size,
    requests: check.requests,
    answers: check.answers,
    beyond: ours.operations.filter(one => !check.served.has(one.name)).map(({ name }) => name),
  }
}

class ConformanceCheck {
  readonly findings: Finding[] = []
  /** Operations of ours that the document has. */
  readonly served = new Set<string>()
  requests = 0
  readonly answers: Record<string, readonly number[]> = {}
  /** Answers that nothing but a fault of the wire has brought about. */
  readonly #byFault = new Set<string>()
  readonly #providerDocument: OpenapiDocument
  readonly #ownDocument: OpenapiDocument
  readonly #sim: Simulator
  readonly #bodies: BodyValidator

  constructor(theirs: OpenapiDocument, ours: OpenapiDocument, sim: Simulator) {
    this.#providerDocument = theirs
    this.#ownDocument = ours
    this.#sim = sim
    this.#bodies = new BodyValidator(theirs)
  }

  async checkOperation(theirs: DocumentOperation): Promise<void> {
    const matching = this.#findServed(theirs)
    if (matching === undefined) return
    this.served.add(matching.name)
    const findings: Finding[] = []
    const report = (finding: Omit<Finding, 'operation'>) => findings.push({ ...finding, operation: theirs.name })
    await this.#checkAnswers(theirs, matching, report)
    this.#checkParameters(theirs, matching, report)
    this.#checkRequestBody(theirs, matching, report)
    this.#checkResponses(theirs, matching, report)
    // What was seen in an answer need not be told of its schema again.
    const seen = new Set<string>()
    for (const finding of findings) {
      const key = `${finding.place} ${finding.kind === 'value' ? 'type' : finding.kind}`
      if (!seen.has(key)) this.findings.push(finding)
      seen.add(key)
    }
  }

  /** Ours by its path, whatever its parameters are called. */
  #findServed(theirs: DocumentOperation): DocumentOperation | undefined {
    const paths = [theirs.path, `${this.#providerDocument.base}${theirs.path}`]
    const same = this.#ownDocument.operations.filter(({ path }) => paths.some(one => isSamePath(one, path)))
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
    const meant = nearestWord(theirs.path, new Set(this.#ownDocument.operations.map(({ path }) => path)))
    const ours = `there is no such path${meant === undefined ? '' : `; the nearest is ${meant}`}`
    this.findings.push({ ...at, kind: 'path', says: 'it is served', ours })
    return undefined
  }

  /** Asks for a success, and for all that it can be brought to refuse. */
  async #checkAnswers(theirs: DocumentOperation, found: DocumentOperation, tell: ReportFinding): Promise<void> {
    const seen = new Set<number>()
    for (const answer of await this.#answersOf(found, streamOf(this.#providerDocument, theirs) !== undefined)) {
      seen.add(answer.status)
      await this.#checkAnswer(answer, theirs, tell)
    }
    for (const answer of await this.#faultsOf(theirs, found, seen)) {
      seen.add(answer.status)
      this.#byFault.add(`${theirs.name} ${answer.status}`)
      await this.#checkAnswer(answer, theirs, tell)
    }
    this.answers[theirs.name] = [...seen].sort((a, b) => a - b)
    const unlisted = new Set<number>()
    for (const status of [...seen, ...[...found.responses.keys()].map(Number)]) {
      if (status >= 400 && findResponse(theirs, status) === undefined) unlisted.add(status)
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

  async #checkAnswer(answer: Response, theirs: DocumentOperation, tell: ReportFinding): Promise<void> {
    this.requests++
    const response = findResponse(theirs, answer.status)
    if (response !== undefined) await this.#checkContent(answer, response, tell)
    else if (answer.status === 200) {
      const listed = [...theirs.responses.keys()].join(', ') || 'none'
      tell({
        ...{ severity: 'break', kind: 'status', place: 'answer 200', pointer: theirs.at.pointer },
        ...{ says: `answers are ${listed}`, ours: '200' },
      })
    }
  }

  async #checkContent(answer: Response, response: DocumentPart, tell: ReportFinding): Promise<void> {
    const place = `answer ${answer.status}`
    const media = mediaTypesOf(response)
    const type = (answer.headers.get('content-type') ?? '').split(';', 1)[0]!
    const text = await answer.text()
    if (media.length > 0 && !media.some(one => matchesMediaType(one, type))) {
      const severity = 'break'
      const pointer = `${response.pointer}/content`
      tell({ severity, kind: 'media', place, pointer, says: `the content is ${media.join(' or ')}`, ours: type })
      return
    }
    if (type === EVENT_STREAM) {
      const mediaPart = contentOf(this.#providerDocument, response, EVENT_STREAM)
      const breaches =
        mediaPart === undefined ? [] : findStreamDifferences(this.#providerDocument, this.#bodies, mediaPart, text)
      for (const breach of breaches) tell(withPlace(breach, place))
      return
    }
    const schema = jsonSchemaOf(this.#providerDocument, response)
    if (schema === undefined || !/json/.test(type)) return
    for (const breach of this.#bodies.findDifferences(schema, JSON.parse(text))) tell(withPlace(breach, place))
  }

  #checkParameters(theirs: DocumentOperation, found: DocumentOperation, tell: ReportFinding): void {
    const [one, other] = [theirs, found].map(({ parameters }) => parameters.filter(({ value }) => value.in !== 'path'))
    const isHeld = ({ value }: DocumentPart) =>
      value.in === 'header' && /^(authorization|accept|content-type)$/i.test(String(value.name))
    for (const parameter of one!.filter(part => !isHeld(part))) {
      const { name, in: place, required } = parameter.value
      const at = { kind: 'parameter' as const, place: `${place} ${name}`, pointer: parameter.pointer }
      const same = other!.find(({ value }) => value.in === place && isSameName(value, parameter.value))
      if (same === undefined) {
        if (place !== 'cookie') tell({ ...at, severity: 'warning', says: 'it may be given', ours: 'it is ignored' })
        continue
      }
      if (same.value.required === true && required !== true) {
        tell({ ...at, severity: 'break', says: 'it may be left out', ours: 'without it the request is refused' })
      }
      const [theirSchema, ourSchema] = [
        this.#providerDocument.partAt(parameter, 'schema'),
        this.#ownDocument.partAt(same, 'schema'),
      ]
      if (theirSchema === undefined || ourSchema === undefined) continue
      const sides = [
        { document: this.#providerDocument, schema: theirSchema },
        { document: this.#ownDocument, schema: ourSchema },
      ] as const
      for (const difference of compareSchemas(sides[0], sides[1], 'asked')) {
        // In an address everything is text, and null is to leave it out.
        if (difference.kind === 'type' && isTextual(difference)) continue
        tell({ ...difference, place: at.place })
      }
    }
    for (const { value } of other!) {
      if (value.required !== true || one!.some(part => part.value.in === value.in && isSameName(part.value, value)))
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

  #checkRequestBody(theirs: DocumentOperation, found: DocumentOperation, tell: ReportFinding): void {
    const [one, other] = [theirs.body, found.body]
    if (one === undefined || other === undefined) {
      if (one === undefined && other?.value.required !== true) return
      const at = { kind: 'field', place: 'the body', pointer: one?.pointer ?? theirs.at.pointer } as const
      if (one === undefined)
        tell({ ...at, severity: 'break', says: 'there is none', ours: 'without one the request is refused' })
      else tell({ ...at, severity: 'warning', says: 'there is one', ours: 'it is not read' })
      return
    }
    const media = mediaTypesOf(one).find(type => mediaTypesOf(other).includes(type))
    if (media === undefined) {
      const at = { severity: 'break', kind: 'media', place: 'the body', pointer: `${one.pointer}/content` } as const
      tell({
        ...at,
        says: `it is ${mediaTypesOf(one).join(' or ')}`,
        ours: `it is ${mediaTypesOf(other).join(' or ')}`,
      })
      return
    }
    this.#compareBodies('asked', [one, other], media, 'request', tell)
  }

  #checkResponses(theirs: DocumentOperation, found: DocumentOperation, tell: ReportFinding): void {
    for (const [status, ours] of found.responses) {
      const response = findResponse(theirs, Number(status))
      const shared =
        response === undefined ? [] : mediaTypesOf(response).filter(type => mediaTypesOf(ours).includes(type))
      for (const media of shared) {
        this.#compareBodies('answered', [response!, ours], media, `answer ${status}`, tell)
      }
    }
    for (const [status, { pointer }] of theirs.responses) {
      // Another success in the place of ours is told already.
      const isTold = status.startsWith('2') && findResponse(theirs, 200) === undefined
      if (!/^\d+$/.test(status) || found.responses.has(status) || isTold) continue
      const says = `${status} is an answer`
      const isFault = this.#byFault.has(`${theirs.name} ${status}`)
      const ours = isFault ? 'a fault of the wire alone gives it' : 'it is never given'
      tell({ severity: 'note', kind: 'status', place: `answer ${status}`, pointer, says, ours })
    }
    const stream = streamOf(this.#providerDocument, theirs)
    if (stream === undefined || streamOf(this.#ownDocument, found) !== undefined) return
    const at = { severity: 'break', kind: 'media', place: 'answer 200', pointer: stream.pointer } as const
    tell({ ...at, says: `the content may be ${EVENT_STREAM}`, ours: 'it is never streamed' })
  }

  #compareBodies(
    way: 'asked' | 'answered',
    parts: readonly [DocumentPart, DocumentPart],
    media: string,
    place: string,
    tell: ReportFinding,
  ): void {
    const [theirs, ours] = [
      bodySchemaOf(this.#providerDocument, parts[0], media),
      bodySchemaOf(this.#ownDocument, parts[1], media),
    ]
    if (theirs === undefined || ours === undefined) return
    const sides = [
      { document: this.#providerDocument, schema: theirs },
      { document: this.#ownDocument, schema: ours },
    ] as const
    const within = media === EVENT_STREAM ? `${place}, each event` : place
    for (const difference of compareSchemas(sides[0], sides[1], way)) tell(withPlace(difference, within))
  }

  /** What a world answers to each story of an operation, and to what asks for a stream. */
  async #answersOf(found: DocumentOperation, streams: boolean): Promise<Response[]> {
    const { operation, endpoint, operations } = this.#declarationOf(found)
    const stories = probesOf(operations, operation)
    if (streams && endpoint.streamEvent !== undefined) {
      const usage = { stream_options: { include_usage: true } }
      stories.push(...[{}, usage].map(more => ({ change: { fields: { stream: true, ...more } } })))
    }
    return Promise.all(stories.map(story => this.#answerTo(found, story)))
  }

  /** What is answered where a fault of the wire gives a status that nothing else has brought about. */
  async #faultsOf(
    theirs: DocumentOperation,
    found: DocumentOperation,
    seen: ReadonlySet<number>,
  ): Promise<readonly Response[]> {
    const listed = [...theirs.responses.keys(), ...found.responses.keys()].filter(one => /^(?:429|5\d\d)$/.test(one))
    const statuses = [...new Set(listed.map(Number))].filter(
      status => !seen.has(status) && findResponse(theirs, status) !== undefined,
    )
    const { operation } = this.#declarationOf(found)
    const story = (status: number): Probe => ({
      before: sim => sim.faults.add({ on: operation, fault: { kind: 'status', status } }),
    })
    return Promise.all(statuses.map(status => this.#answerTo(found, story(status))))
  }

  /** The answer to one story in a world of its own. */
  async #answerTo(found: DocumentOperation, { change = {}, before }: Probe): Promise<Response> {
    const { operation, endpoint, operations, isMirror } = this.#declarationOf(found)
    const sim = this.#sim.fork()
    const example = await createExampleRequest(operations, operation, sim.fetch, {
      baseUrl: 'http://sim',
      token: sim.token,
    })
    const exampleCopy = example.clone()
    await before?.(sim, () => exampleCopy.clone())
    const request = await applyChange(example, change)
    return sim.fetch(isMirror ? await applyChange(request, { path: mirrorPath(endpoint, request) }) : request)
  }

  #declarationOf({ at, method, path }: DocumentOperation) {
    const { api } = this.#sim
    const operations = api.operations as Operations
    const operation = api.findOperationId(method.toUpperCase(), path)!
    const endpoint = operations[operation] as AnyEndpoint
    return { operations, operation, endpoint, isMirror: at.value['x-mirror-of'] !== undefined }
  }
}

/** What a document says of a body of one content type, or of each event of one. */
function bodySchemaOf(document: OpenapiDocument, part: DocumentPart, media: string): DocumentPart | undefined {
  const mediaPart = document.partAt(part, 'content', media)
  if (mediaPart === undefined || media !== EVENT_STREAM) return mediaPart && document.partAt(mediaPart, 'schema')
  const schema = eventSchemaOf(document, mediaPart)
  return schema && eventForms(document, mediaPart, schema).length === 0 ? schema : undefined
}

type ReportFinding = (finding: Omit<Finding, 'operation'>) => void

function withPlace(difference: SchemaDifference, place: string): Omit<Finding, 'operation'> {
  return { ...difference, place: `${place}, ${difference.place}` }
}

/** The path of a request where its endpoint is served a second time. */
function mirrorPath({ path, mirror }: AnyEndpoint, request: Request): string {
  const [home, second] = [path, mirror!].map(one => one.split('/{', 1)[0]!)
  return new URL(request.url).pathname.replace(home!, second!)
}

/** Where a document says that an operation may answer with a stream of events. */
function streamOf(document: OpenapiDocument, operation: DocumentOperation): DocumentPart | undefined {
  const response = findResponse(operation, 200)
  return response && contentOf(document, response, EVENT_STREAM)
}

/** Literal words are the same, parameters may have any names; a name of a model may hold a slash. */
function isSamePath(theirs: string, ours: string): boolean {
  const pattern = ours
    .split('/')
    .map(step => {
      if (step === '{model_name}') return '\\{[^/]+\\}(?:/\\{[^/]+\\})?'
      return step.startsWith('{') ? '\\{[^/]+\\}' : escapeRegExp(step)
    })
    .join('/')
  return new RegExp(`^${pattern}/?$`).test(theirs)
}

function findResponse({ responses }: DocumentOperation, status: number): DocumentPart | undefined {
  return responses.get(String(status)) ?? responses.get(`${Math.floor(status / 100)}XX`) ?? responses.get('default')
}

function isSameName(one: DocumentPart['value'], other: DocumentPart['value']): boolean {
  const [a, b] = [String(one.name), String(other.name)]
  return one.in === 'header' ? a.toLowerCase() === b.toLowerCase() : a === b
}

function isTextual({ says, ours }: SchemaDifference): boolean {
  const types = (text: string) => text.split(' or ').filter(type => type !== 'null')
  return types(ours).includes('string') || types(says).some(type => types(ours).includes(type))
}

/** The information of a document, for the head of a report. */
export function titleOf(document: unknown): string {
  const { title, version } = toObject(toObject(document).info)
  return [title, version].filter(one => typeof one === 'string').join(' ') || 'the document'
}
