/** Replays a recording at a server: its requests go over HTTP, and the answers are compared here. */

import { concatBytes } from '../../../lib/bytes.ts'
import { toHttpFields } from '../../option-fields.ts'
import { encodeAnswer } from '../bodies.ts'
import { type ParsedRecording, RecordingError } from '../file.ts'
import type { AnswerLine, Numbered, ReadLine, RecordedBody, StepLines } from '../lines.ts'
import { compareBodies, type Difference, withHashes } from './compare.ts'
import { ENTRIES_BEFORE, type ReplayResult } from './perform-lines.ts'
import { createRequest } from './replayed-request.ts'
import { collectRequests, nameRecorded, type RequestFacts } from './request-facts.ts'
import { type LineOutcome, REPLAY_HEADER } from './served-replay.ts'

/**
 * Sends a request to the control plane, below `/_sim`. Returns the JSON of its answer.
 *
 * Rejects if the server refuses it.
 */
export type SendControl = (method: string, path: string, body?: unknown) => Promise<Readonly<Record<string, unknown>>>

/** A request under way. */
interface OpenRequest {
  readonly facts: RequestFacts
  readonly abort: AbortController
  readonly answer: Promise<{ readonly response: Response } | { readonly error: unknown }>
  /** The bytes of a stream, and how it ended. */
  body: Promise<{ readonly bytes: Uint8Array; readonly isBroken: boolean }> | undefined
  readonly pieces: RecordedBody[]
  wire: AnswerLine['wire']
}

/**
 * Replays a recording in a new world of a server, and deletes the world.
 *
 * @param control sends requests to the root of the server
 * @throws RecordingError if the server makes another world of it
 */
export async function replayAtServer(
  recording: ParsedRecording,
  what: string,
  control: SendControl,
): Promise<ReplayResult> {
  const { header } = recording
  const { webhooks: _, ...options } = header.options
  const isSnapshot = header.snapshot !== undefined
  const spec = { ...toHttpFields({ ...options, ...(isSnapshot && { fixtures: 'empty' }) }), clock: 'manual' }
  const { world, base_url: baseUrl } = (await control('POST', 'worlds', spec)) as { world: string; base_url: string }
  const inWorld: SendControl = (method, path, body) => control(method, `worlds/${world}/_sim/${path}`, body)
  try {
    const begin = { at: header.at, journal: header.journal, ...(isSnapshot && { snapshot: header.snapshot }) }
    await inWorld('POST', 'replay', { begin })
    const { digest } = await inWorld('GET', 'digest')
    if (digest !== header.digest) {
      throw new RecordingError(
        `Failed to replay ${what}: line 1: the server makes another world of it. Start a server of the version that recorded it.`,
      )
    }
    return await new RemoteReplay(recording, baseUrl, inWorld).run()
  } finally {
    await control('DELETE', `worlds/${world}`).catch(() => {})
  }
}

class RemoteReplay {
  readonly #recording: ParsedRecording
  readonly #baseUrl: string
  readonly #control: SendControl
  readonly #facts: ReadonlyMap<number, RequestFacts>
  readonly #requests = new Map<number, OpenRequest>()

  constructor(recording: ParsedRecording, baseUrl: string, control: SendControl) {
    this.#recording = recording
    this.#baseUrl = baseUrl
    this.#control = control
    this.#facts = collectRequests(recording.lines)
  }

  async run(): Promise<ReplayResult> {
    const { lines, cut } = this.#recording
    const result = { lines: lines.length + 1, requests: 0, divergence: undefined, cut }
    try {
      for (const line of lines) {
        if ('request' in line) result.requests++
        const outcome = await this.#perform(line)
        if (outcome === undefined) continue
        const { entries } = (await this.#control('GET', 'journal?limit=10000')) as { entries: JournalRow[] }
        const before = entries.slice(-ENTRIES_BEFORE).map(({ at, kind, subject }) => `${at} ${kind} ${subject}`)
        const at = entries.at(-1)?.at ?? ''
        return { ...result, divergence: { line: line.line, at, ...outcome, before } }
      }
      return result
    } finally {
      for (const { abort } of this.#requests.values()) abort.abort()
    }
  }

  async #perform(line: Numbered): Promise<LineOutcome> {
    if ('digest' in line) {
      // The clients have to get no more, but the world has to come to its end.
      const outcome = await this.#send({ waits: 0, at: line.at })
      const { digest } = await this.#control('GET', 'digest')
      if (outcome !== undefined || digest === line.digest) return outcome
      return { subject: 'the digest of the world', recorded: line.digest, replayed: String(digest) }
    }
    if ('request' in line && !line.look) this.#begin(line.request)
    const outcome = await this.#send(withoutBody(line), 'request' in line && this.#facts.get(line.request)!.isPaced)
    if (outcome !== undefined) return outcome
    if ('answer' in line) return this.#takeAnswer(line)
    return 'read' in line ? this.#takePiece(line) : undefined
  }

  /** Lets the world of the server perform a line. */
  async #send(line: StepLines, paced = false): Promise<LineOutcome> {
    const { difference } = (await this.#control('POST', 'replay', { line, paced })) as {
      difference: LineOutcome | null
    }
    return difference ?? undefined
  }

  #begin(number: number): void {
    const facts = this.#facts.get(number)!
    const abort = new AbortController()
    const request = createRequest(facts.line, facts.body, abort.signal)
    const headers = new Headers(request.headers)
    headers.set(REPLAY_HEADER, String(number))
    const address = `${this.#baseUrl}${facts.line.path}`
    const answer = (async () => {
      const body = request.body === null ? undefined : await request.arrayBuffer()
      const init = { method: request.method, headers, signal: abort.signal, ...(body !== undefined && { body }) }
      return { response: await fetch(address, init) }
    })().catch((error: unknown) => ({ error }))
    this.#requests.set(number, { facts, abort, answer, body: undefined, pieces: [], wire: undefined })
  }

  async #takeAnswer(line: Numbered<AnswerLine>): Promise<LineOutcome> {
    const open = this.#requests.get(line.answer)
    // A look of the server itself.
    if (open === undefined) return undefined
    const subject = nameRecorded(open.facts.line)
    const withSubject = (difference: Difference | undefined): LineOutcome => difference && { subject, ...difference }
    const kind = line.wire?.kind
    if (line.status === 0 || kind === 'hang') {
      open.abort.abort()
      this.#requests.delete(line.answer)
      return undefined
    }
    const result = await open.answer
    if (kind === 'reset' || kind === 'refused') {
      this.#requests.delete(line.answer)
      if ('error' in result) return undefined
      return withSubject({ recorded: `a connection that is ${kind}`, replayed: `status ${result.response.status}` })
    }
    if ('error' in result)
      return withSubject({ recorded: `status ${line.status}`, replayed: `no answer: ${String(result.error)}` })
    const { response } = result
    if (response.status !== line.status) {
      const replayed = `status ${response.status} with ${await response.text().catch(() => 'a broken body')}`
      return withSubject({ recorded: `status ${line.status}`, replayed })
    }
    for (const [name, value] of Object.entries(line.headers ?? {})) {
      const found = response.headers.get(name)
      // A cut body is announced by its transport.
      if (found === value || (kind === 'cut' && name === 'content-length')) continue
      return withSubject({
        recorded: `${name}: ${value}`,
        replayed: found === null ? `no header ${name}` : `${name}: ${found}`,
      })
    }
    open.wire = line.wire
    const body = readBytes(response)
    if (line.streamed) {
      open.body = body
      return undefined
    }
    this.#requests.delete(line.answer)
    const { bytes } = await body
    if (kind === 'cut') return withSubject(compareCut(line.body, bytes))
    return withSubject(
      compareBodies(line.body, response.body === null && line.body === null ? null : encodeAnswer(bytes)),
    )
  }

  async #takePiece(line: Numbered<ReadLine>): Promise<LineOutcome> {
    const open = this.#requests.get(line.read)
    if (open === undefined) return undefined
    if (line.body === undefined) {
      open.pieces.push(line.piece ?? null)
      return undefined
    }
    this.#requests.delete(line.read)
    if (line.body === 'left') open.abort.abort()
    const read = await open.body
    const subject = nameRecorded(open.facts.line)
    if (read === undefined || open.wire?.kind === 'cut') return undefined
    // The pieces before are compared by the lines of the server alone: how many are under way is not known.
    if (line.body === 'left') return undefined
    if (!open.pieces.every(piece => typeof piece === 'string')) return undefined
    const difference = compareBodies(open.pieces.join(''), encodeAnswer(read.bytes))
    if (difference !== undefined) return { subject, ...difference }
    if (read.isBroken === (line.body === 'broken')) return undefined
    return {
      subject,
      recorded: `the body is ${line.body}`,
      replayed: `the body is ${read.isBroken ? 'broken' : 'over'}`,
    }
  }
}

/** Returns what the server needs of a line: bodies of requests go over HTTP, and those of answers are compared here. */
function withoutBody({ line: _, ...line }: Numbered): StepLines {
  if (!('request' in line || 'step' in line || 'answer' in line)) return line
  const { body: __, ...rest } = line
  return rest
}

interface JournalRow {
  readonly at: string
  readonly kind: string
  readonly subject: string
}

/** Returns what differs between the first bytes of a body and those that came before a cut. */
function compareCut(recorded: RecordedBody | undefined, bytes: Uint8Array): Difference | undefined {
  if (typeof recorded !== 'string') return undefined
  const part = withHashes(new TextDecoder().decode(bytes), recorded)
  return recorded.startsWith(part) ? undefined : compareBodies(recorded, part)
}

async function readBytes(response: Response): Promise<{ readonly bytes: Uint8Array; readonly isBroken: boolean }> {
  const chunks: Uint8Array[] = []
  let isBroken = false
  const reader = response.body?.getReader()
  try {
    for (let next = await reader?.read(); next !== undefined && !next.done; next = await reader?.read())
      chunks.push(next.value)
  } catch {
    isBroken = true
  }
  return { bytes: concatBytes(chunks), isBroken }
}
