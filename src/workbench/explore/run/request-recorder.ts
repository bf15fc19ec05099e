/** Records the requests of a client as the client sees them. */

import type { Micros } from '../../../kernel/duration.ts'
import type { DecidedBy } from '../../../kernel/journal.ts'
import { parseJsonOrText } from '../../../lib/json-text.ts'
import type { AnsweredRequest } from '../../../service/http/incoming-request.ts'
import { type BodyReader, replaceBodyReaders } from '../../../simulator/clock/fetch-tracker.ts'
import { faultOf } from '../../../simulator/judge/facts.ts'
import type { ObservedRequest, RequestOutcome } from '../../../simulator/judge/observation.ts'

type SentRequest = Pick<ObservedRequest, 'index' | 'start' | 'operation' | 'method' | 'path' | 'sentAt'>

/** A request that is being recorded. */
export class RecordedRequest implements ObservedRequest {
  readonly index: number
  readonly start: number
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly sentAt: Micros
  seq: number | undefined = undefined
  client = ''
  body: unknown = undefined
  endedAt: Micros | undefined = undefined
  lastSentByEnd: number | undefined = undefined
  outcome: RequestOutcome = 'unanswered'
  status = 0
  retryAfter: Micros | undefined = undefined
  answer: unknown = undefined
  readError: string | undefined = undefined
  decidedBy: DecidedBy = 'none'
  fault: ObservedRequest['fault'] = undefined

  constructor(sent: SentRequest) {
    this.index = sent.index
    this.start = sent.start
    this.operation = sent.operation
    this.method = sent.method
    this.path = sent.path
    this.sentAt = sent.sentAt
  }
}

/** The requests of one run, in the order in which they were sent. */
export class RequestRecorder {
  readonly requests: RecordedRequest[] = []
  /** The requests by the position of their journal entry. A request that a fault repeats has several. */
  readonly bySeq = new Map<number, RecordedRequest>()

  /** Begins the record of a request. */
  begin(sent: Omit<SentRequest, 'index'>): RecordedRequest {
    const request = new RecordedRequest({ ...sent, index: this.requests.length + 1 })
    this.requests.push(request)
    return request
  }

  /** Adds what the service knows of a request when it has its answer. */
  noteAnswered(request: RecordedRequest, { text, decidedBy, reason, seq, client }: AnsweredRequest): void {
    if (text !== undefined) request.body = parseJsonOrText(text)
    request.decidedBy = decidedBy
    request.fault = faultOf({ decidedBy, reason })
    request.client = client
    request.seq = seq
    if (seq !== undefined) this.bySeq.set(seq, request)
  }

  /** Records that the response has arrived. Its body is recorded when the client reads it. */
  noteResponse(request: RecordedRequest, response: Response, time: Micros, epochMs: number): Response {
    this.noteHead(request, response, time, epochMs)
    return recordReading(response, request)
  }

  /** Records that status and headers have arrived. */
  noteHead(request: RecordedRequest, { status, headers }: Response, time: Micros, epochMs: number): void {
    request.endedAt = time
    request.lastSentByEnd = this.requests.length
    request.outcome = 'answered'
    request.status = status
    request.retryAfter = readRetryAfter(headers.get('retry-after'), time, epochMs)
  }
}

/** Returns the wait in microseconds that a `Retry-After` header asks for: seconds, or an HTTP date. */
function readRetryAfter(value: string | null, time: Micros, epochMs: number): Micros | undefined {
  if (value === null) return undefined
  const seconds = Number(value)
  if (Number.isFinite(seconds)) return seconds * 1e6
  const date = Date.parse(value)
  return Number.isFinite(date) ? Math.max(0, (date - epochMs) * 1000 - time) : undefined
}

/** Makes the methods of a response that read its body record what the client gets. */
function recordReading(response: Response, request: RecordedRequest): Response {
  const text = response.text.bind(response)
  const readText = async () => {
    const value = await text()
    request.answer = parseJsonOrText(value)
    return value
  }
  const readAs: Partial<Record<BodyReader, () => Promise<unknown>>> = {
    text: readText,
    json: async () => JSON.parse(await readText()),
  }
  replaceBodyReaders(response, (name, read) => async () => {
    try {
      const value = await (readAs[name] ?? read)()
      if (!(name in readAs)) request.answer = `(${name})`
      return value
    } catch (error) {
      request.readError = error instanceof Error ? error.message : String(error)
      throw error
    }
  })
  return response
}
