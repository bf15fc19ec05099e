/** Plays the requests of a HAR file, as the network panel of a browser saves it, into a world. */

import { elapsedAt } from '../../../kernel/clock.ts'
import { MAX_DURATION } from '../../../kernel/duration.ts'
import { decodeBase64 } from '../../../lib/bytes.ts'
import { parseJsonText } from '../../../lib/json-text.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { quote } from '../../../lib/quote.ts'
import { eventLoopTurn, monotonicMs } from '../../../lib/real-time.ts'
import type { Simulator } from '../../simulator-interface.ts'
import { RecordingError } from '../file.ts'
import { moveTo } from './free-play.ts'

/** An entry of a HAR file, as far as it is used. */
interface HarEntry {
  readonly startedDateTime: string
  /** Milliseconds. */
  readonly time: number
  readonly request: {
    readonly method: string
    readonly url: string
    readonly headers?: readonly { readonly name: string; readonly value: string }[]
    readonly postData?: {
      readonly mimeType: string
      readonly text?: string
      readonly encoding?: string
      /** The fields of a form. A file can be without its content. */
      readonly params?: readonly FormParam[] | null
    }
  }
  readonly response?: { readonly status: number }
}

type FormParam = { readonly name: string } & Partial<Record<'value' | 'fileName' | 'contentType', string | null>>

interface Har {
  readonly log: { readonly entries: readonly HarEntry[] }
}

/** What came of the requests of a HAR file. */
export interface HarPlay {
  readonly requests: number
  /** Requests that are not for the service: of the control plane, or not below the base path. */
  readonly leftOut: number
  /** Requests that cannot be sent, in words. */
  readonly unsendable: readonly string[]
  /** Requests whose status differs from that of the file, in words, and how many are equal. */
  readonly differing: ReadonlyMap<string, number>
}

/** Headers on which an answer can depend. Any other could have a credential of the provider. */
const SENT = /^(accept|content-type|x-sim-(fault|names))$/i
/** Methods that fetch refuses to send. */
const NEVER_SENT = /^(connect|trace|track)$/i

/**
 * Reads a HAR file.
 *
 * @param what names it in errors
 * @throws RecordingError for text that is not a HAR file
 */
export function parseHar(text: string, what: string): Har {
  const fail = (problem: string) =>
    new RecordingError(`Failed to read the HAR file ${what}: ${problem}. Give a file that a browser saved.`)
  const parsed = parseJsonText(text)
  if ('fault' in parsed) {
    const { line, column, reason } = parsed.fault
    throw fail(`it is not JSON: line ${line}, column ${column}: ${reason}`)
  }
  const har = parsed.value as Partial<Har> | null
  const entries: unknown = har?.log?.entries
  if (!Array.isArray(entries)) throw fail('log.entries is missing')
  let [begin, end] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const [index, entry] of (entries as HarEntry[]).entries()) {
    let problem = problemOf(entry)
    begin = Math.min(begin, sentAt(entry))
    end = Math.max(end, answeredAt(entry))
    if (end - begin > MAX_DURATION) problem ??= `it is over ${LIMITS.duration} years from another`
    if (problem === undefined) continue
    throw new RecordingError(
      `Failed to read the HAR file ${what}: log.entries[${index}]: ${problem}. Leave the entry out, or save the file again.`,
    )
  }
  return har as Har
}

/** Returns microseconds since 1970; NaN for no time. */
function sentAt(entry: HarEntry | null): number {
  return elapsedAt(entry?.startedDateTime ?? '', 0)
}

function answeredAt(entry: HarEntry | null): number {
  return sentAt(entry) + Math.ceil((entry?.time || 0) * 1000)
}

function problemOf(entry: HarEntry | null): string | undefined {
  if (!Number.isFinite(sentAt(entry))) return 'startedDateTime is not a time with an offset'
  const { request, response, time }: Partial<HarEntry> = entry!
  if (typeof (time ?? 0) !== 'number') return 'time is not a number'
  if (typeof (response?.status ?? 0) !== 'number') return 'response.status is not a number'
  if (typeof request?.method !== 'string') return 'request.method is missing'
  if (typeof request.url !== 'string' || !URL.canParse(request.url)) return 'request.url is not a URL'
  const headers: unknown = request.headers ?? []
  if (!Array.isArray(headers) || !headers.every(isHeader)) return 'request.headers is not a list of names and values'
  const { text, params } = request.postData ?? {}
  if (typeof (text ?? '') !== 'string') return 'request.postData.text is not a text'
  const fields: unknown = params ?? []
  const isList = Array.isArray(fields) && fields.every(one => typeof one?.name === 'string')
  return isList ? undefined : 'request.postData.params is not a list of fields with names'
}

function isHeader(header: unknown): boolean {
  const { name, value } = (header ?? {}) as { readonly name?: unknown; readonly value?: unknown }
  return typeof name === 'string' && typeof value === 'string'
}

/** Returns the path and query of a request below a base path; undefined if it is not for the service. */
function pathOf({ request }: HarEntry, basePath: string): string | undefined {
  const { pathname, search } = new URL(request.url)
  if (!pathname.startsWith(`${basePath}/`)) return undefined
  const path = pathname.slice(basePath.length)
  return /^\/_sim(\/|$)/.test(path) ? undefined : path + search
}

function isHttp({ request }: HarEntry): boolean {
  return /^https?:/i.test(request.url)
}

/** Real milliseconds until a request has reached the world, at the latest. */
const MAX_WAIT_MS = 2_000

/**
 * Sends the requests of a HAR file to a simulator, each at its time after the first one. They use the first token of the
 * world.
 *
 * @param basePath the path before that of the service, as in `/api`. It is removed. Requests elsewhere are left out
 */
export async function playHar(sim: Simulator, { log }: Har, basePath = ''): Promise<HarPlay> {
  const ours = log.entries.filter(entry => !isHttp(entry) || pathOf(entry, basePath) !== undefined)
  const unsendable = ours.flatMap(entry => {
    const reason = whyUnsendable(entry)
    return reason === undefined ? [] : [`log.entries[${log.entries.indexOf(entry)}] left out: ${reason}`]
  })
  const entries = ours.filter(entry => whyUnsendable(entry) === undefined).sort((a, b) => sentAt(a) - sentAt(b))
  const begin = entries.length > 0 ? sentAt(entries[0]!) : 0
  const start = sim.clock.elapsed
  const answers = entries.map(() => 0)
  for (const [index, entry] of entries.entries()) {
    await moveTo(sim, start + sentAt(entry) - begin)
    const { last } = sim.world.journal
    let isAnswered = false
    send(sim, entry, pathOf(entry, basePath)!)
      .then(
        status => {
          answers[index] = status
        },
        () => {},
      )
      .finally(() => {
        isAnswered = true
      })
    await eventLoopTurn()
    // Requests of one time keep their order: the code for an upload is loaded with the first one.
    const deadline = monotonicMs() + MAX_WAIT_MS
    while (!isAnswered && sim.world.journal.last === last && monotonicMs() < deadline) await eventLoopTurn()
  }
  const end = entries.reduce((latest, entry) => Math.max(latest, answeredAt(entry)), begin)
  await moveTo(sim, start + end - begin)
  await eventLoopTurn()
  const differing = new Map<string, number>()
  for (const [index, { request, response }] of entries.entries()) {
    const [recorded, played] = [response?.status ?? 0, answers[index]!]
    const difference = `${request.method} ${new URL(request.url).pathname}: ${recorded} in the file, ${played} here`
    if (played !== recorded) differing.set(difference, (differing.get(difference) ?? 0) + 1)
  }
  return { requests: entries.length, leftOut: log.entries.length - ours.length, unsendable, differing }
}

/** Returns why a request cannot be sent; undefined if it can. */
function whyUnsendable(entry: HarEntry): string | undefined {
  const { url, method, headers = [] } = entry.request
  if (!isHttp(entry)) return `its URL begins with ${quote(new URL(url).protocol)}, and not with http: or https:`
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(method) || NEVER_SENT.test(method))
    return `its method ${quote(method)} cannot be sent`
  const { text, params } = entry.request.postData ?? {}
  const listed = params?.find(({ fileName, value }) => !text && fileName && typeof value !== 'string')
  const file = listed?.fileName ?? emptyFileOf(text ?? '')
  if (file !== undefined) return `its form has the file ${quote(file)} without the content`
  // Text of a header is Latin-1 in one line.
  const wrong = headers.find(({ name, value }) => SENT.test(name) && /[^\t\x20-\x7e\x80-\xff]/.test(value.trim()))
  return wrong && `its header ${quote(wrong.name)} has a character that no header can have`
}

/** Returns the name of the first file without content in the text of a multipart form; undefined without one. */
function emptyFileOf(text: string): string | undefined {
  const [boundary] = /^--.+/.exec(text) ?? []
  if (boundary === undefined) return undefined
  const parts = `\r\n${text}`.split(`\r\n${boundary}`)
  const names = parts.map(part => /^(?:\r\n.+)*; *filename="([^"]+)".*(?:\r\n.+)*\r\n\r\n$/i.exec(part)?.[1])
  return names.find(name => name !== undefined)
}

async function send(sim: Simulator, { request }: HarEntry, path: string): Promise<number> {
  const { method, postData } = request
  const headers = new Headers()
  for (const { name, value } of request.headers ?? []) if (SENT.test(name)) headers.set(name, value)
  headers.set('authorization', `Bearer ${sim.token}`)
  const { text, params, encoding, mimeType = 'application/json' } = postData ?? {}
  const isForm = !text && !!params?.length
  const hasBody = (isForm || text !== undefined) && method !== 'GET' && method !== 'HEAD'
  if (hasBody && !headers.has('content-type')) headers.set('content-type', mimeType)
  const sent = hasBody && isForm ? formOf(headers, params) : text
  const body = hasBody ? (encoding === 'base64' && !isForm ? decodeBase64(sent!) : sent) : undefined
  const answer = await sim.fetch(`http://sim${path}`, { method, headers, ...(body !== undefined && { body }) })
  await answer.text()
  return answer.status
}

/** Returns the body of a form, in the format of the content type. Gives a multipart type a boundary, if it has none. */
function formOf(headers: Headers, params: readonly FormParam[]): string {
  const type = headers.get('content-type') ?? ''
  if (!/^multipart\//i.test(type)) {
    return new URLSearchParams(params.map(({ name, value }) => [name, value ?? ''])).toString()
  }
  const [, boundary = 'form-of-a-har-file'] = /;\s*boundary="?([^";]+)/i.exec(type) ?? []
  headers.set('content-type', `multipart/form-data; boundary="${boundary}"`)
  const quoted = (text: string) => `"${text.replaceAll('"', '%22').replaceAll(/\r?\n/g, '%0A')}"`
  const parts = params.map(({ name, value, fileName, contentType }) => {
    const file = fileName ? `; filename=${quoted(fileName)}` : ''
    const kind = contentType ? `\r\nContent-Type: ${contentType}` : ''
    return `--${boundary}\r\nContent-Disposition: form-data; name=${quoted(name)}${file}${kind}\r\n\r\n${value ?? ''}\r\n`
  })
  return `${parts.join('')}--${boundary}--\r\n`
}
