/** What a recording says about each of its requests. */

import type { Micros } from '../../kernel/duration.ts'
import type { AnswerLine, Numbered, RecordedBody, RequestLine } from './lines.ts'

/** A request of a recording with its headers, its body, its times and its answer. */
export interface WholeExchange {
  /** As in `GET /deploy/list (request 7)`. Like `--without` and judgements, it counts the requests of clients alone. */
  readonly name: string
  readonly line: Numbered<RequestLine>
  readonly body: RecordedBody | undefined
  readonly sentAt: Micros
  /** When its body was there; undefined without an answer. */
  readonly endedAt: Micros | undefined
  readonly answer: AnswerLine | undefined
  /** The whole body of the answer, that of a stream included. */
  readonly content: RecordedBody | undefined
  /** Whether its answer takes time on the clock of its client. */
  readonly isPaced: boolean
}

/** Returns the requests of clients in the order of their lines. */
export function listExchanges(lines: readonly Numbered[]): WholeExchange[] {
  return [...collectExchanges(lines).values()].filter(({ line }) => !line.look)
}

/** Returns the requests by the number that their lines have, those of the clock included. */
export function collectExchanges(lines: readonly Numbered[]): ReadonlyMap<number, WholeExchange> {
  const exchanges = new Map<number, WholeExchange>()
  let ofClients = 0
  const change = (number: number, changes: Partial<WholeExchange>) => {
    const known = exchanges.get(number)
    if (known !== undefined) exchanges.set(number, { ...known, ...changes })
  }
  for (const line of lines) {
    const [time] = line.at
    if ('request' in line) {
      const none = { endedAt: undefined, answer: undefined, content: undefined, isPaced: false }
      const place = line.look ? 'a look of the clock' : `request ${++ofClients}`
      const name = `${line.method} ${line.path.split('?', 1)[0]} (${place})`
      exchanges.set(line.request, { name, line, body: line.body, sentAt: time, ...none })
    } else if ('step' in line) {
      if (line.body !== undefined) change(line.step, { body: line.body })
    } else if ('waits' in line) change(line.waits, { isPaced: true })
    else if ('answer' in line) {
      const delay = line.wire?.kind === 'delayed' ? line.wire.delay : 0
      const content = line.streamed ? '' : line.body
      const unread = line.sent === undefined ? undefined : { body: line.sent }
      change(line.answer, { answer: line, endedAt: time + delay, content, ...unread })
    } else if ('read' in line) {
      const before = exchanges.get(line.read)?.content
      const content = typeof before === 'string' && typeof line.piece === 'string' ? before + line.piece : before
      const endedAt = Math.max(time, exchanges.get(line.read)?.endedAt ?? 0)
      change(line.read, { endedAt, content: content ?? line.piece })
    }
  }
  return exchanges
}
