import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSimulator } from '../../../src/index.ts'
import { parseRecording } from '../../../src/simulator/history/file.ts'
import { createHeader } from '../../../src/simulator/history/header.ts'
import { createCrc32, formatCrc32, LineWriter } from '../../../src/simulator/history/line-writer.ts'
import type { AnswerLine, Position, RequestLine, StepLines } from '../../../src/simulator/history/lines.ts'
import { forAll } from '../../setup/for-all.ts'

const header = createHeader(createSimulator())

function write(lines: readonly StepLines[]): string {
  let text = ''
  const writer = new LineWriter(part => {
    text += part
  })
  writer.add(header)
  for (const line of lines) writer.add(line)
  writer.add({ digest: 'd', at: [9, 9] })
  writer.flush()
  return text
}

/** Returns the steps of a recording without their numbers in the file. */
function read(text: string): object[] {
  return parseRecording(text, 'run.ndjson').lines.map(({ line: _, ...step }) => step)
}

// Few different values, so that most of them are repeated.
const text = fc.constantFrom('', 'a', '{"b":"\\""}', 'é\u2028\ud800', '<"/>')
const headers = fc.dictionary(fc.constantFrom('date', 'accept', 'x-"q"'), text, { maxKeys: 3 })
const body = fc.oneof(text, fc.constant(null), fc.record({ base64: fc.constantFrom('AAA=', 'AAE=') }))
const at = fc.constantFrom<Position>([0, 0], [1, 0], [1, 2])
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined })

const exchange = fc.record({
  request: fc.record({
    ...{ at, headers, method: fc.constantFrom('GET', 'POST'), path: fc.constantFrom('/a', '/b?q="é"') },
    ...{ body: optional(body), address: optional(fc.constant('10.0.0.1')), look: optional(fc.constant(true as const)) },
  }),
  answer: fc.record({
    ...{ status: fc.constantFrom(0, 200, 404), headers: optional(headers), body: optional(body) },
    ...{ now: optional(fc.nat(9)), streamed: optional(fc.constant(true as const)) },
    wire: optional(fc.constant({ kind: 'hang' } as const)),
  }),
  isJoined: fc.boolean(),
})

test('a recording reads as it was written when requests, headers and bodies are repeated', { tags: 'slow' }, () => {
  forAll([fc.array(exchange, { maxLength: 30 })], exchanges => {
    const lines = exchanges.flatMap(({ request, answer, isJoined }, index): StepLines[] => {
      const number = index + 1
      const position: Position = isJoined ? request.at : [7, 7]
      return [{ request: number, ...request } as RequestLine, { answer: number, at: position, ...answer } as AnswerLine]
    })
    expect(read(write([...lines]))).toEqual([...lines, { digest: 'd', at: [9, 9] }])
  })
})

test('a poll that gets the same answer takes a short line', () => {
  const headers = { authorization: 'Bearer token', accept: 'application/json' }
  const poll = (number: number): StepLines[] => [
    { request: number, at: [0, 0], method: 'GET', path: '/deploy/list', headers: { ...headers } },
    { answer: number, at: [0, 0], status: 200, headers: { date: 'today' }, body: '[{"status":"running"}]' },
  ]
  const rows = write([...poll(1), ...poll(2)]).split('\n')
  expect(rows[1]).toContain('"headers":{"authorization":"Bearer token","accept":"application/json"}')
  expect(rows[2]).toMatch(
    /^\{"request":2,"at":\[0,0\],"method":"GET","path":"\/deploy\/list","headers":1,"answered":\{"status":200,"headers":1,"body":1\},"sum":"[0-9a-f]{8}"\}$/,
  )
})

test.each([
  ['headers', '"headers":7,"answered":{"status":200,"headers":{},"body":""}', 'headers'],
  ['the headers of an answer', '"headers":{},"answered":{"status":200,"headers":7,"body":""}', 'headers of an answer'],
  ['the body of an answer', '"headers":{},"answered":{"status":200,"headers":{},"body":7}', 'body of an answer'],
])('a recording is refused when %s are those of a request that is missing', (_, fields, what) => {
  const crc32 = createCrc32()
  let sum = 0
  const row = (json: string) => {
    sum = crc32(json, sum)
    return `${json.slice(0, -1)},"sum":"${formatCrc32(sum)}"}\n`
  }
  const file = row(JSON.stringify(header)) + row(`{"request":8,"at":[0,0],"method":"GET","path":"/",${fields}}`)
  expect(() => parseRecording(file, 'run.ndjson')).toThrow(
    `Failed to read the recording run.ndjson: line 2: no line before it has the ${what} of request 7. Give the file as it was recorded.`,
  )
})
