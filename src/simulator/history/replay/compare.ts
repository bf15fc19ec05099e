/** Compares an answer with that of a recording, and says where they differ. */

import { CREDENTIAL_HASH, hashCredential, hideSecrets } from '../../../lib/text/secrets.ts'
import { isStreamed, WireFaultResponse } from '../../faults/wire-faults.ts'
import { encodeAnswer, encodeBytes } from '../bodies.ts'
import type { AnswerLine, RecordedBody } from '../lines.ts'

/** What differs: the recorded value and the replayed one, each in words. */
export interface Difference {
  readonly recorded: string
  readonly replayed: string
}

/** Returns what differs in an answer; undefined if nothing does. The body of a stream is not read. */
export async function compareAnswer(line: AnswerLine, response: Response): Promise<Difference | undefined> {
  const { status } = response
  if (status !== line.status) {
    const body = line.streamed ? 'a stream' : describeBody(line.body)
    return {
      recorded: `status ${line.status} with ${body}`,
      replayed: `status ${status} with ${isStreamed(response) ? 'a stream' : describeBody(encodeAnswer(await bytesOf(response)))}`,
    }
  }
  const wire = response instanceof WireFaultResponse ? response.outcome : undefined
  if (JSON.stringify(wire) !== JSON.stringify(line.wire)) {
    return { recorded: `on the wire ${describeWire(line.wire)}`, replayed: `on the wire ${describeWire(wire)}` }
  }
  const header = compareHeaders(line.headers ?? {}, Object.fromEntries(response.headers))
  if (header !== undefined) return header
  if (line.streamed) return isStreamed(response) ? undefined : { recorded: 'a stream', replayed: 'a whole body' }
  if (isStreamed(response) && response.body !== null) return { recorded: 'a whole body', replayed: 'a stream' }
  const body = response.body === null ? null : encodeAnswer(await bytesOf(response))
  return compareBodies(line.body, body)
}

/** Returns what differs in a piece of a body; undefined if nothing does. */
export function comparePiece(recorded: RecordedBody | undefined, piece: Uint8Array): Difference | undefined {
  return compareBodies(recorded, encodeBytes(piece))
}

/** Returns what differs in two bodies; undefined if nothing does. */
function compareBodies(recorded: RecordedBody | undefined, replayed: RecordedBody): Difference | undefined {
  if (JSON.stringify(recorded ?? null) === JSON.stringify(replayed)) return undefined
  const hidden = withHashes(replayed, recorded)
  if (hidden !== replayed) return compareBodies(recorded, hidden)
  if (typeof recorded !== 'string' || typeof replayed !== 'string') {
    return { recorded: describeBody(recorded), replayed: describeBody(replayed) }
  }
  const [one, other] = [hideAll(recorded), hideAll(replayed)]
  if (one === other) return undefined
  let at = 0
  while (one[at] === other[at]) at++
  const where = at > CONTEXT ? `, from character ${at} on: …` : ' '
  const from = Math.max(0, at - CONTEXT)
  const part = (text: string) =>
    `body${where}${text.slice(from, at + 2 * CONTEXT)}${text.length > at + 2 * CONTEXT ? '…' : ''}`
  return { recorded: part(one), replayed: part(other) }
}

/** Returns a replayed body with the hashes that the recorded one has in place of credentials. */
function withHashes(replayed: RecordedBody, recorded: RecordedBody | undefined): RecordedBody {
  if (typeof recorded !== 'string' || typeof replayed !== 'string') return replayed
  const hashes = new Set(recorded.match(CREDENTIAL_HASH))
  if (hashes.size === 0) return replayed
  const hide = (value: string, raw = value) => {
    const hash = hashCredential(value)
    return hashes.has(hash) ? hash : raw
  }
  // A credential of several words is the whole value of its field.
  let hidden = hideSecrets(replayed, hide)
  for (const words of WORDS) hidden = hidden.replaceAll(words, word => hide(word))
  return hidden
}

/** Returns a text without credentials, also if it is of a recording that has them. */
const hideAll = (text: string) => hideSecrets(text, hashCredential)

/** What can be a credential in a text: a hash that is as long as its credential was, and the longest words first. */
const WORDS = [/sha256-[0-9a-f]{32}\.+/g, /[^\s"'\\]+/g, /[^\s"'\\/?&=,;<>()]+/g, /[\w-]+/g]

/** Characters of a body before its first difference. */
const CONTEXT = 60

function compareHeaders(
  recorded: Readonly<Record<string, string>>,
  replayed: Readonly<Record<string, string>>,
): Difference | undefined {
  const texts = [JSON.stringify(recorded), JSON.stringify(replayed)] as const
  if (texts[0] === texts[1]) return undefined
  const known = hideAll(texts[0])
  const found = withHashes(hideAll(texts[1]), known) as string
  const [one, other] = [JSON.parse(known), JSON.parse(found)] as Readonly<Record<string, string>>[]
  for (const name of new Set([...Object.keys(recorded), ...Object.keys(replayed)])) {
    if (one![name] === other![name]) continue
    const describe = (value: string | undefined) => (value === undefined ? `no header ${name}` : `${name}: ${value}`)
    return { recorded: describe(one![name]), replayed: describe(other![name]) }
  }
  return undefined
}

function describeBody(body: RecordedBody | undefined): string {
  if (body === undefined || body === null) return 'no body'
  if (typeof body === 'string') return `the body ${hideAll(body.length > 400 ? `${body.slice(0, 400)}…` : body)}`
  if ('base64' in body) return `${Math.floor((body.base64.length * 3) / 4)} bytes`
  return `${body.bytes} bytes with the checksum ${body.digest}`
}

function describeWire(outcome: AnswerLine['wire']): string {
  return outcome === undefined ? 'nothing happens' : JSON.stringify(outcome)
}

async function bytesOf(response: Response): Promise<Uint8Array> {
  return new Uint8Array(await response.arrayBuffer())
}
