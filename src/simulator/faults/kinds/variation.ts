import * as z from 'zod'
import { joinBody, mapEvents, splitBody, withBody } from '../body-streams.ts'
import { isEventStream, isStreamed } from '../wire-faults.ts'
import { withHeaders } from './answer-fields.ts'
import { changeAnswer } from './drift.ts'
import { defineFaultKind, type FaultHit } from './kind.ts'

/** Bytes of a piece: no event and few characters beyond ASCII end at its end. */
const PIECE_BYTES = 7
/** Chunks of a stream that come in one read. */
const JOINED = 4

type Form = (answer: Response, hit: FaultHit) => Response | undefined | Promise<Response | undefined>

/** The forms of an answer that say the same. Each returns undefined if the answer has no such form. */
const FORMS = {
  comments: changeEvents(event => `: keep-alive\n\n${event}`),
  usage: changeEvents(separateUsage),
  crlf: changeEvents(event => event.replaceAll('\n', '\r\n')),
  pieces: (answer, { passage, missed }) =>
    isStreamed(answer) || passage.endpoint.produces !== 'application/json'
      ? withBody(answer, splitBody(answer.body!, PIECE_BYTES, missed))
      : undefined,
  joined: answer => (isEventStream(answer) ? withBody(answer, joinBody(answer.body!, JOINED)) : undefined),
  retryDate(answer, { passage }) {
    const seconds = answer.headers.get('retry-after')
    if (seconds === null || !/^\d{1,8}$/.test(seconds)) return undefined
    const { clock } = passage.backend
    const date = new Date((Math.ceil(clock.unix()) + Number(seconds)) * 1000).toUTCString()
    return withHeaders(answer, { 'retry-after': date })
  },
  fields: (answer, hit) => changeAnswer(answer, hit, 'extraField', undefined, present => present),
  keys: (answer, hit) => changeAnswer(answer, hit, 'keyOrder', undefined, present => present),
  async rows(answer, { passage, missed }) {
    if (answer.status !== 200 || passage.endpoint.fileLine === undefined) return undefined
    const text = await answer.text()
    const rows = text.split('\n').filter(row => row !== '')
    // A file of the client keeps its order.
    const isChanged = rows.length > 1 && rows.every(row => /"custom_id"/.test(row) && /"response"/.test(row))
    if (!isChanged) missed()
    return withBody(answer, isChanged ? `${rows.reverse().join('\n')}\n` : text)
  },
} as const satisfies Readonly<Record<string, Form>>

export const VARIATION_FORMS = Object.keys(FORMS) as [keyof typeof FORMS, ...(keyof typeof FORMS)[]]

/** The same answer in another form that the service may always have. */
export const variation = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('variation'), form: z.enum(VARIATION_FORMS) }),
  summary: 'The same answer in another form that the interface allows',
  finding: ({ form }, operation) => `each answer to ${operation} had another form that the interface allows (${form})`,
  example: { kind: 'variation', form: 'fields' },
  appliesTo({ form }, { streamEvent, fileLine, produces }) {
    if (form === 'rows') return fileLine !== undefined
    if (form === 'pieces') return streamEvent !== undefined || produces !== 'application/json'
    return !['comments', 'usage', 'crlf', 'joined'].includes(form) || streamEvent !== undefined
  },
  scope: 'operations whose answers have this form: streams, or files of rows',
  async act({ form }, hit) {
    const answer = await hit.proceed()
    const varied = answer.body === null && form !== 'retryDate' ? undefined : await FORMS[form](answer, hit)
    if (varied === undefined) hit.missed()
    return varied ?? answer
  },
})

function changeEvents(change: (event: string) => string): Form {
  return (answer, hit) => {
    if (!isEventStream(answer)) return undefined
    let isChanged = false
    const changeEvent = (event: string) => {
      const text = change(event)
      isChanged ||= text !== event
      return { text }
    }
    return mapEvents(answer, changeEvent, () => isChanged || hit.missed())
  }
}

/** Returns an event with choices and usage as two: the usage has no choices. */
function separateUsage(event: string): string {
  const data = /^data: (\{.*)$/m.exec(event)?.[1]
  if (data === undefined) return event
  const { usage, ...whole } = JSON.parse(data) as { readonly usage?: unknown; readonly choices?: unknown }
  if (usage == null || !Array.isArray(whole.choices)) return event
  return `data: ${JSON.stringify(whole)}\n\ndata: ${JSON.stringify({ ...whole, choices: [], usage })}\n\n`
}
