/** Records the requests of a client as the client sees them. */

import type { Micros } from '../../../kernel/duration.ts'
import type { DecidedBy } from '../../../kernel/journal.ts'
import { parseJsonOrText } from '../../../lib/json-text.ts'
import { type Exchange, faultOf, readRetryAfter } from '../../../service/http/exchange.ts'
import { type BodyReader, replaceBodyReaders } from '../../../simulator/clock/fetch-tracker.ts'
import type { ObservedRequest, RequestOutcome } from '../../../simulator/judge/observation.ts'

type SentRequest = Pick<ObservedRequest, 'index' | 'start' | 'operation' | 'method' | 'path' | 'sentAt'>

/** A request of a client that runs, and what the client has of the answer so far. */
export class ClientExchange implements ObservedRequest {
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
  readonly requests: ClientExchange[] = []
  /** The requests by the position of their journal entry. A request that a fault repeats has several. */
  readonly bySeq = new Map<number, ClientExchange>()

  /** Begins the record of a request. */
  begin(sent: Omit<SentRequest, 'index'>): ClientExchange {
    const request = new ClientExchange({ ...sent, index: this.requests.length + 1 })
    this.requests.push(request)
    return request
  }

  /** Adds what the service knows of a request when it has its answer. */
  noteAnswered(request: ClientExchange, exchange: Exchange): void {
    const { text, seq, client } = exchange
    if (text !== undefined) request.body = parseJsonOrText(text)
    request.decidedBy = exchange.decidedBy
    request.fault = faultOf(exchange)
    request.client = client
    request.seq = seq
    if (seq !== undefined) this.bySeq.set(seq, request)
  }

  /** Records that the response has arrived. Its body is recorded when the client reads it. */
  noteResponse(request: ClientExchange, response: Response, time: Micros, epochMs: number): Response {
    this.noteHead(request, response, time, epochMs)
    return recordReading(response, request)
  }

  /** Records that status and headers have arrived. */
  noteHead(request: ClientExchange, { status, headers }: Response, time: Micros, epochMs: number): void {
    request.endedAt = time
    request.lastSentByEnd = this.requests.length
    request.outcome = 'answered'
    request.status = status
    request.retryAfter = readRetryAfter(headers.get('retry-after'), epochMs + time / 1000)
  }
}

/** Makes the methods of a response that read its body record what the client gets. */
function recordReading(response: Response, request: ClientExchange): Response {
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
