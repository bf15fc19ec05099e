/** Compares the simulator with an OpenAPI document of a provider. */

import { nearestWord } from '../../lib/did-you-mean.ts'
import { escapeRegExp } from '../../lib/patterns.ts'
import type { AnyEndpoint, Operations } from '../../service/endpoint.ts'
import type { NamesProfile } from '../../service/naming/names-profile.ts'
import { createExampleRequest } from '../../service/openapi/examples.ts'
import { createSimulator, type Simulator } from '../../simulator/simulator.ts'
import { BodyValidator } from './bodies.ts'
import { compareDeclarations } from './declarations.ts'
import {
  contentOf,
  type DocumentOperation,
  type DocumentPart,
  EVENT_STREAM,
  findResponse,
  hasOpenContent,
  matchesMediaType,
  mediaTypesOf,
  OpenapiDocument,
  streamOf,
  toObject,
} from './document.ts'
import { applyChange, type Probe, probesOf, type RequestChange } from './probes.ts'
import { fieldsOf, viewOf } from './schema-views.ts'
import { type Difference, type ReportDifference, withPlace } from './schemas.ts'
import { findStreamDifferences } from './streams.ts'

/** Sends every probe of an operation, each to its own fork of a world, and requests for a stream if `streams`. */
async function sendProbes(sim: Simulator, found: DocumentOperation, streams: boolean): Promise<Response[]> {
  const { operation, endpoint, operations } = declarationOf(sim, found)
  const probes = probesOf(operations, operation)
  if (streams && endpoint.streamEvent !== undefined) {
    const usage = { stream_options: { include_usage: true } }
    probes.push(...[{}, usage].map(more => ({ change: { fields: { stream: true, ...more } } })))
  }
  return Promise.all(probes.map(probe => answerTo(sim.fork(), found, probe)))
}

/** Sends a request for each status of errors that no probe has produced, under a fault rule that produces it. */
async function sendFaults(
  sim: Simulator,
  theirs: DocumentOperation,
  found: DocumentOperation,
  seen: ReadonlySet<number>,
): Promise<readonly Response[]> {
  const listed = [...theirs.responses.keys(), ...found.responses.keys()].filter(one => /^(?:429|5\d\d)$/.test(one))
  const statuses = [...new Set(listed.map(Number))].filter(
    status => !seen.has(status) && findResponse(theirs, status) !== undefined,
  )
  const { operation } = declarationOf(sim, found)
  const probe = (status: number): Probe => ({
    before: sim => sim.faults.add({ on: operation, fault: { kind: 'status', status } }),
  })
  return Promise.all(statuses.map(status => answerTo(sim.fork(), found, probe(status))))
}

/** Sends a value. Returns why no state of the world would accept it, or undefined. */
async function findRefusal(
  origin: Simulator,
  found: DocumentOperation,
  change: RequestChange,
): Promise<string | undefined> {
  const sim = origin.fork()
  const { status } = await answerTo(sim, found, { change })
  const { decidedBy, reason } = sim.requests.at(-1)!
  return status >= 400 && decidedBy === 'none' ? reason : undefined
}

/** Sends one probe to a fork of the world. */
async function answerTo(sim: Simulator, found: DocumentOperation, { change = {}, before }: Probe): Promise<Response> {
  const { operation, endpoint, operations, isMirror } = declarationOf(sim, found)
  const example = await createExampleRequest(operations, operation, sim.fetch, {
    baseUrl: 'http://sim',
    token: sim.token,
  })
  const exampleCopy = example.clone()
  await before?.(sim, () => exampleCopy.clone())
  const request = await applyChange(example, change)
  return sim.fetch(isMirror ? await applyChange(request, { path: mirrorPath(endpoint, request) }) : request)
}

function declarationOf({ api }: Simulator, { at, method, path }: DocumentOperation) {
  const operations = api.operations as Operations
  const operation = api.findOperationId(method.toUpperCase(), path)!
  const endpoint = operations[operation] as AnyEndpoint
  return { operations, operation, endpoint, isMirror: at.value['x-mirror-of'] !== undefined }
}

/** Returns the path of a request at the second path of its endpoint. */
function mirrorPath({ path, mirror }: AnyEndpoint, request: Request): string {
  const [home, second] = [path, mirror!].map(one => one.split('/{', 1)[0]!)
  return new URL(request.url).pathname.replace(home!, second!)
}

type AnswerHeaders = ReturnType<typeof answerHeaders>

/** Keeps the headers that the document declares for the answers of one operation, and which optional ones an answer had. */
function answerHeaders(document: OpenapiDocument, bodies: BodyValidator) {
  /** By pointer of the header. */
  const optional = new Map<string, { name: string; status: number; wasPresent: boolean }>()
  return {
    /** Reports required headers that an answer does not have, and values that differ from their schema. */
    check(answer: Response, response: DocumentPart, report: ReportDifference): void {
      const { status, headers } = answer
      for (const name of Object.keys(toObject(response.value.headers))) {
        const header = document.partAt(response, 'headers', name)
        // OpenAPI ignores a declared Content-Type: the media types declare it.
        if (header === undefined || name.toLowerCase() === 'content-type') continue
        const { pointer } = header
        const at = { severity: 'break', kind: 'header', place: `answer ${status}, header ${name}`, pointer } as const
        const value = headers.get(name)
        if (header.value.required !== true) {
          const known = optional.get(pointer) ?? { name, status, wasPresent: false }
          optional.set(pointer, { ...known, wasPresent: known.wasPresent || value !== null })
        } else if (value === null) report({ ...at, says: 'it is required', ours: 'it is missing' })
        const schema = document.partAt(header, 'schema')
        if (value === null || schema === undefined) continue
        for (const { says, ours } of findHeaderDifferences(bodies, schema, value)) report({ ...at, says, ours })
      }
    },

    /** Reports the optional headers that no answer had. */
    reportMissing(report: ReportDifference): void {
      for (const [pointer, { name, status, wasPresent }] of optional) {
        if (wasPresent) continue
        const at = { severity: 'warning', kind: 'header', place: `answer ${status}, header ${name}`, pointer } as const
        report({ ...at, says: 'it may be present', ours: 'no answer has it' })
      }
    },
  }
}

/** Compares the text of a header, or the number or boolean that it says, with a schema. */
function findHeaderDifferences(bodies: BodyValidator, schema: DocumentPart, text: string) {
  const asText = bodies.findDifferences(schema, text)
  const isWord = asText.every(({ kind }) => kind !== 'type')
  if (isWord || !/^(true|false|-?\d+(\.\d+)?)$/.test(text)) return asText
  return bodies.findDifferences(schema, JSON.parse(text))
}

/** A difference with its operation as in the document: `GET /deploy/list`. */
export interface Finding extends Difference {
  readonly operation: string
}

export interface Conformance {
  readonly findings: readonly Finding[]
  /** Number of operations in the document, and how many of them the simulator serves. */
  readonly operations: number
  readonly served: number
  /** Number of requests sent. */
  readonly requests: number
  /** The statuses of the checked answers, by operation. */
  readonly answers: Readonly<Record<string, readonly number[]>>
  /** Operations of the simulator that the document does not have. */
  readonly beyond: readonly string[]
}

const SEVERITIES = ['break', 'warning', 'note'] as const

function bySeverity(findings: readonly Finding[]): readonly Finding[] {
  return [...findings].sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity))
}

/**
 * Sends requests for successes and refusals of every operation of a document to a world in this process, and checks the
 * answers by the document. Also compares the declarations of both documents.
 *
 * @param document the parsed document
 * @throws DocumentError for a document that cannot be used
 */
export async function conform(document: unknown, options: { names?: NamesProfile } = {}): Promise<Conformance> {
  const theirs = new OpenapiDocument(document)
  const sim = createSimulator({ seed: 1, ...options })
  const ours = new OpenapiDocument(await (await sim.fetch('http://sim/openapi.json')).json())
  const check = new ConformanceCheck(theirs, ours, sim)
  for (const operation of theirs.operations) await check.checkOperation(operation)
  return {
    findings: bySeverity(check.findings),
    operations: theirs.operations.length,
    served: check.served.size,
    requests: check.requests,
    answers: check.answers,
    beyond: ours.operations.filter(one => !check.served.has(one.name)).map(({ name }) => name),
  }
}

class ConformanceCheck {
  readonly findings: Finding[] = []
  /** Names of the simulator's operations that the document has. */
  readonly served = new Set<string>()
  requests = 0
  readonly answers: Record<string, readonly number[]> = {}
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
    const report = (difference: Difference) => findings.push({ ...difference, operation: theirs.name })
    const byFault = await this.#checkAnswers(theirs, matching, report)
    const [providerDocument, ownDocument] = [this.#providerDocument, this.#ownDocument]
    compareDeclarations({ theirs, ours: matching, byFault, report, providerDocument, ownDocument })
    await this.#checkValues(theirs, matching, report)
    for (const warning of this.#bodies.warnings.splice(0)) report(warning)
    // A difference is reported once: as seen in an answer, else in the schema, else in the refusal of a value.
    const seen = new Set<string>()
    for (const finding of bySeverity(findings)) {
      const key = `${finding.place} ${finding.kind === 'value' ? 'type' : finding.kind}`
      if (!seen.has(key)) this.findings.push(finding)
      seen.add(key)
    }
  }

  /** Returns the simulator's operation of the same method and path; names of parameters may differ. */
  #findServed(theirs: DocumentOperation): DocumentOperation | undefined {
    const paths = [theirs.path, ...theirs.bases.map(base => `${base}${theirs.path}`)]
    const same = this.#ownDocument.operations.filter(({ path }) => paths.some(one => isSamePath(one, path)))
    const found = same.find(({ method }) => method === theirs.method)
    if (found !== undefined) return found
    const at = { operation: theirs.name, place: 'the path', pointer: theirs.at.pointer, severity: 'break' as const }
    if (same.length > 0) {
      const ours = `only ${same.map(({ method }) => method).join(', ')} is served`
      this.findings.push({ ...at, kind: 'method', says: `${theirs.method} is served`, ours })
      return undefined
    }
    const meant = nearestWord(theirs.path, new Set(this.#ownDocument.operations.map(({ path }) => path)))
    const ours = `unknown path${meant === undefined ? '' : `; the nearest is ${meant}`}`
    this.findings.push({ ...at, kind: 'path', says: 'it is served', ours })
    return undefined
  }

  /** Checks a success and every refusal that can be produced. Returns the statuses that only a fault rule produced. */
  async #checkAnswers(
    theirs: DocumentOperation,
    found: DocumentOperation,
    report: ReportDifference,
  ): Promise<ReadonlySet<number>> {
    const headers = answerHeaders(this.#providerDocument, this.#bodies)
    const asked = await sendProbes(this.#sim, found, streamOf(this.#providerDocument, theirs) !== undefined)
    const seen = new Set(asked.map(({ status }) => status))
    const faulted = await sendFaults(this.#sim, theirs, found, seen)
    const byFault = new Set(faulted.map(({ status }) => status))
    for (const answer of [...asked, ...faulted]) await this.#checkAnswer(answer, theirs, headers, report)
    headers.reportMissing(report)
    this.answers[theirs.name] = sortNumbers([...seen, ...byFault])
    // One finding for all statuses: most documents list few refusals.
    const codes = sortNumbers([...seen, ...byFault, ...[...found.responses.keys()].map(Number)]).filter(
      status => status >= 400 && findResponse(theirs, status) === undefined,
    )
    if (codes.length === 0) return byFault
    const listed = [...theirs.responses.keys()].join(', ')
    report({
      ...{ severity: 'warning', kind: 'status', place: 'refusals', pointer: `${theirs.at.pointer}/responses` },
      ...{ says: `answers are ${listed}`, ours: `it may be ${codes.join(', ')}` },
    })
    return byFault
  }

  /** Sends the example with each value that the document lists for a parameter, or for a field of the body. */
  async #checkValues(theirs: DocumentOperation, found: DocumentOperation, report: ReportDifference): Promise<void> {
    const document = this.#providerDocument
    const check = async (
      place: string,
      schema: DocumentPart | undefined,
      toChange: (value: string) => RequestChange,
    ) => {
      if (schema === undefined) return
      for (const value of viewOf({ document, schema }).words.filter(word => typeof word === 'string')) {
        this.requests++
        const reason = await findRefusal(this.#sim, found, toChange(value))
        if (reason === undefined) continue
        const at = { severity: 'break', kind: 'value', place, pointer: schema.pointer } as const
        report({ ...at, says: `it may be ${JSON.stringify(value)}`, ours: `it is refused: ${reason}` })
      }
    }
    // Counted from the end: before it, the name of a model may be several steps.
    const steps = theirs.path.replace(/\/$/, '').split('/').reverse()
    for (const parameter of theirs.parameters) {
      const name = String(parameter.value.name)
      const schema = document.partAt(parameter, 'schema')
      // Of a list, each element is sent alone.
      const value = schema && (viewOf({ document, schema }).items?.schema ?? schema)
      const step = steps.indexOf(`{${name}}`)
      if (parameter.value.in === 'query') await check(`query ${name}`, value, word => ({ query: { [name]: word } }))
      else if (parameter.value.in === 'path' && step >= 0)
        await check(`path ${name}`, value, word => ({ step: { fromEnd: step, value: word } }))
    }
    const schema = theirs.body && document.partAt(theirs.body, 'content', mediaTypesOf(theirs.body)[0]!, 'schema')
    const fields = schema === undefined ? [] : fieldsOf(viewOf({ document, schema }), 'asked')
    for (const [name, field] of fields) {
      // A field of an object in a form needs the other fields of the object.
      if (!name.includes('[')) await check(`request, ${name}`, field.schema, value => ({ fields: { [name]: value } }))
    }
  }

  async #checkAnswer(
    answer: Response,
    theirs: DocumentOperation,
    headers: AnswerHeaders,
    report: ReportDifference,
  ): Promise<void> {
    this.requests++
    const response = findResponse(theirs, answer.status)
    if (response !== undefined) {
      headers.check(answer, response, report)
      await this.#checkContent(answer, response, report)
    } else if (answer.status === 200) {
      const listed = [...theirs.responses.keys()].join(', ') || 'none'
      report({
        ...{ severity: 'break', kind: 'status', place: 'answer 200', pointer: theirs.at.pointer },
        ...{ says: `answers are ${listed}`, ours: '200' },
      })
    }
  }

  async #checkContent(answer: Response, response: DocumentPart, report: ReportDifference): Promise<void> {
    const place = `answer ${answer.status}`
    const media = mediaTypesOf(response)
    const type = (answer.headers.get('content-type') ?? '').split(';', 1)[0]!
    const text = await answer.text()
    if (media.length > 0 && !media.some(one => matchesMediaType(one, type))) {
      const severity = hasOpenContent(this.#providerDocument, response) ? 'note' : 'break'
      const pointer = `${response.pointer}/content`
      report({ severity, kind: 'media', place, pointer, says: `the content is ${media.join(' or ')}`, ours: type })
      return
    }
    if (type === EVENT_STREAM) {
      const mediaPart = contentOf(this.#providerDocument, response, EVENT_STREAM)
      const breaches =
        mediaPart === undefined ? [] : findStreamDifferences(this.#providerDocument, this.#bodies, mediaPart, text)
      for (const breach of breaches) report(withPlace(breach, place))
      return
    }
    const content = contentOf(this.#providerDocument, response, type)
    const schema = content && this.#providerDocument.partAt(content, 'schema')
    if (schema === undefined || !/json/.test(type)) return
    for (const breach of this.#bodies.findDifferences(schema, JSON.parse(text))) report(withPlace(breach, place))
  }
}

function sortNumbers(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b)
}

/** Compares paths: literal parts are equal, names of parameters may differ. Names of models may contain a slash. */
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

/** Returns the title and version of a document, for the head of a report. */
export function titleOf(document: unknown): string {
  const { title, version } = toObject(toObject(document).info)
  return [title, version].filter(one => typeof one === 'string').join(' ') || 'the document'
}
