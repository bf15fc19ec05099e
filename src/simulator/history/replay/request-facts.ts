/** What all lines of a request say about it together. */

import type { Numbered, RecordedBody, RequestLine } from '../lines.ts'

export interface RequestFacts {
  readonly line: Numbered<RequestLine>
  readonly body: RecordedBody | undefined
  readonly isPaced: boolean
}

/** Returns the requests of a recording by number. A later line can have the body of a request. */
export function collectRequests(lines: readonly Numbered[]): Map<number, RequestFacts> {
  const facts = new Map<number, RequestFacts>()
  for (const line of lines) {
    if ('request' in line) facts.set(line.request, { line, body: line.body, isPaced: false })
    else if ('step' in line) {
      if (line.body !== undefined) change(facts, line.step, { body: line.body })
    } else if ('waits' in line) change(facts, line.waits, { isPaced: true })
  }
  return facts
}

/** Names a request in words, as in `GET /deploy/list (request 7)`. */
export function nameRecorded({ method, path, request }: RequestLine): string {
  return `${method} ${path.split('?', 1)[0]} (request ${request})`
}

function change(facts: Map<number, RequestFacts>, number: number, changes: Partial<RequestFacts>): void {
  const known = facts.get(number)
  if (known !== undefined) facts.set(number, { ...known, ...changes })
}
