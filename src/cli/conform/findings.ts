/** Differences between the simulator and a document. */
import { contentOf, type DocumentOperation, type DocumentPart, type OpenapiDocument } from './document.ts'
import type { SchemaDifference } from './schemas.ts'
import { EVENT_STREAM } from './streams.ts'

/**
 * A difference between the simulator and the document.
 *
 * `break`: a client written for the document fails. `warning`: it may fail. `note`: the simulator has more, or less, than
 * the client uses.
 */
export interface Finding {
  readonly severity: 'break' | 'warning' | 'note'
  readonly kind: 'path' | 'method' | 'parameter' | 'header' | 'field' | 'type' | 'value' | 'status' | 'media'
  /** The operation as in the document: `GET /deploy/list`. */
  readonly operation: string
  /** The part of the operation: `answer 200, [].status`. */
  readonly place: string
  /** Place in the document, a JSON pointer. */
  readonly pointer: string
  /** What the document declares. */
  readonly says: string
  /** What the simulator does. */
  readonly ours: string
}

export type ReportFinding = (finding: Omit<Finding, 'operation'>) => void

export function withPlace(difference: SchemaDifference, place: string): Omit<Finding, 'operation'> {
  return { ...difference, place: `${place}, ${difference.place}` }
}

/** Returns the response of an operation that covers a status. */
export function findResponse({ responses }: DocumentOperation, status: number): DocumentPart | undefined {
  return responses.get(String(status)) ?? responses.get(`${Math.floor(status / 100)}XX`) ?? responses.get('default')
}

/** Returns the part of a document that declares an operation's answer as a stream of events. */
export function streamOf(document: OpenapiDocument, operation: DocumentOperation): DocumentPart | undefined {
  const response = findResponse(operation, 200)
  return response && contentOf(document, response, EVENT_STREAM)
}
