/** Compares what two documents declare of one operation: parameters, request bodies and responses. */
import {
  contentOf,
  type DocumentOperation,
  type DocumentPart,
  EVENT_STREAM,
  findResponse,
  matchesMediaType,
  mediaTypesOf,
  type OpenapiDocument,
  streamOf,
} from './document.ts'
import { type SchemaView, viewOf } from './schema-views.ts'
import { compareSchemas, type Difference, type ReportDifference, withPlace } from './schemas.ts'
import { eventForms, eventSchemaOf } from './streams.ts'

/** Headers that every request has, or that describe its sender. A document need not declare them. */
const STANDARD_HEADERS = /^(authorization|accept|content-type|user-agent)$/i

/** One operation in both documents. */
export interface OperationPair {
  readonly theirs: DocumentOperation
  readonly ours: DocumentOperation
  /** Statuses that only a fault rule has produced. */
  readonly byFault: ReadonlySet<number>
  readonly report: ReportDifference
  readonly providerDocument: OpenapiDocument
  readonly ownDocument: OpenapiDocument
}

/** Reports every difference between the two declarations of an operation. */
export function compareDeclarations(pair: OperationPair): void {
  compareParameters(pair)
  compareRequestBodies(pair)
  compareResponses(pair)
}

function compareParameters({ theirs, ours: found, report, providerDocument, ownDocument }: OperationPair): void {
  const [one, other] = [theirs, found].map(({ parameters }) => parameters.filter(({ value }) => value.in !== 'path'))
  const keyHeaders = ownDocument.keyHeadersOf(found)
  const isRead = ({ value }: DocumentPart) =>
    value.in === 'header' &&
    (STANDARD_HEADERS.test(String(value.name)) || keyHeaders.has(String(value.name).toLowerCase()))
  for (const parameter of one!.filter(part => !isRead(part))) {
    const { name, in: place, required } = parameter.value
    const at = { kind: 'parameter' as const, place: `${place} ${name}`, pointer: parameter.pointer }
    const same = other!.find(({ value }) => value.in === place && isSameName(value, parameter.value))
    if (same === undefined) {
      if (place !== 'cookie' || required === true)
        report({ ...at, severity: 'warning', says: 'it may be sent', ours: 'it is ignored' })
      continue
    }
    if (same.value.required === true && required !== true) {
      report({ ...at, severity: 'break', says: 'it is optional', ours: 'it is required' })
    }
    const [theirView, ourView] = [viewAt(providerDocument, parameter), viewAt(ownDocument, same)]
    if (theirView === undefined || ourView === undefined) continue
    for (const difference of compareSchemas(theirView, ourView, { way: 'asked', place: '', level: 0 })) {
      // Everything in an address is text, and null is an omitted parameter.
      if (difference.kind === 'type' && isTextual(difference)) continue
      report({ ...difference, place: at.place })
    }
  }
  for (const { value } of other!) {
    if (value.required !== true || one!.some(part => part.value.in === value.in && isSameName(part.value, value)))
      continue
    const at = { kind: 'parameter', place: `${value.in} ${value.name}`, pointer: theirs.at.pointer } as const
    report({ ...at, severity: 'break', says: 'it is not declared', ours: 'it is required' })
  }
}

function compareRequestBodies(pair: OperationPair): void {
  const { theirs, ours: found, report } = pair
  const [one, other] = [theirs.body, found.body]
  const at = { kind: 'field', place: 'the body', pointer: one?.pointer ?? theirs.at.pointer } as const
  if (other?.value.required === true && one?.value.required !== true) {
    const says = one === undefined ? 'it is not declared' : 'it is optional'
    report({ ...at, severity: 'break', says, ours: 'it is required' })
  }
  if (one === undefined) return
  if (other === undefined) {
    report({ ...at, severity: 'warning', says: 'it may be sent', ours: 'it is ignored' })
    return
  }
  const media = mediaTypesOf(one).flatMap(type => mediaTypesOf(other).filter(ours => matchesMediaType(type, ours)))[0]
  if (media === undefined) {
    const [says, ours] = [one, other].map(body => `it is ${mediaTypesOf(body).join(' or ')}`)
    const pointer = `${one.pointer}/content`
    report({ severity: 'break', kind: 'media', place: 'the body', pointer, says: says!, ours: ours! })
    return
  }
  compareBodies(pair, 'asked', [one, other], media, 'request')
}

function compareResponses(pair: OperationPair): void {
  const { theirs, ours: found, byFault, report, providerDocument, ownDocument } = pair
  for (const [status, ours] of found.responses) {
    const response = findResponse(theirs, Number(status))
    if (response === undefined) continue
    // A range may cover the JSON and the audio of an operation. Its schema describes the JSON.
    const shared = mediaTypesOf(ours).filter(type => type.includes('json') || mediaTypesOf(response).includes(type))
    for (const media of shared) compareBodies(pair, 'answered', [response, ours], media, `answer ${status}`)
  }
  for (const [status, { pointer }] of theirs.responses) {
    // A missing success is reported with the answers.
    const isReported = status.startsWith('2') && findResponse(theirs, 200) === undefined
    if (!/^\d+$/.test(status) || found.responses.has(status) || isReported) continue
    const says = `${status} is an answer`
    const isFault = byFault.has(Number(status))
    const ours = isFault ? 'only a fault rule produces it' : 'it is never answered'
    report({ severity: 'note', kind: 'status', place: `answer ${status}`, pointer, says, ours })
  }
  const stream = streamOf(providerDocument, theirs)
  if (stream === undefined || streamOf(ownDocument, found) !== undefined) return
  const at = { severity: 'break', kind: 'media', place: 'answer 200', pointer: stream.pointer } as const
  report({ ...at, says: `the content may be ${EVENT_STREAM}`, ours: 'it is never streamed' })
}

function compareBodies(
  { providerDocument, ownDocument, report }: OperationPair,
  way: 'asked' | 'answered',
  parts: readonly [DocumentPart, DocumentPart],
  media: string,
  place: string,
): void {
  const [theirs, ours] = [bodyViewOf(providerDocument, parts[0], media), bodyViewOf(ownDocument, parts[1], media)]
  if (theirs === undefined || ours === undefined) return
  const within = media === EVENT_STREAM ? `${place}, each event` : place
  for (const difference of compareSchemas(theirs, ours, { way, place: '', level: 0 }))
    report(withPlace(difference, within))
}

/** Returns the schema of the content of one type in a body; of a stream, the schema of each event. */
function bodyViewOf(document: OpenapiDocument, part: DocumentPart, media: string): SchemaView | undefined {
  const mediaPart = contentOf(document, part, media)
  if (mediaPart === undefined || media !== EVENT_STREAM) return mediaPart && viewAt(document, mediaPart)
  const schema = eventSchemaOf(document, mediaPart)
  return schema && eventForms(document, mediaPart, schema).length === 0 ? viewOf({ document, schema }) : undefined
}

/** Returns the schema of a parameter or of a content type. */
function viewAt(document: OpenapiDocument, part: DocumentPart): SchemaView | undefined {
  const schema = document.partAt(part, 'schema')
  return schema && viewOf({ document, schema })
}

function isSameName(one: DocumentPart['value'], other: DocumentPart['value']): boolean {
  const [a, b] = [String(one.name), String(other.name)]
  return one.in === 'header' ? a.toLowerCase() === b.toLowerCase() : a === b
}

function isTextual({ says, ours }: Difference): boolean {
  const types = (text: string) => text.split(' or ').filter(type => type !== 'null')
  return types(ours).includes('string') || types(says).some(type => types(ours).includes(type))
}
