/** Answers as server-sent events, each when its token is there. */
import type { InferenceCall } from '../cluster/inference-row.ts'
import type { World } from '../cluster/world.ts'
import { type Key, normalQuantile, purpose } from '../kernel/random.ts'
import { bodyCut } from './body-cut.ts'
import { Events, type Patience } from './endpoint.ts'
import { type Client, waited } from './inference.ts'

const JITTER = purpose('answer.jitter')
/** A token keeps its place among the others: none comes more than this share of a token's time early or late. */
const MOST_JITTER = 0.45
/** Bytes of events that are sent in one piece where many are due. */
const PIECE = 16_384

/** An event and the token that it brings: -1 for what opens the answer. */
export interface Frame {
  readonly token: number
  /** JSON, or `[DONE]`. */
  readonly data: string
}

interface Stream {
  readonly world: World
  readonly call: InferenceCall
  /** What the times of its tokens are drawn from. */
  readonly key: Key
  /** Tokens of the longest answer. */
  readonly longest: number
  readonly patience: Patience
  readonly client: Client
  /** Events in order; made as they are sent. */
  readonly frames: Iterator<Frame>
}

/**
 * The answer to a request that an instance works on. Whoever stops reading, or leaves, gives its place back; when the
 * instance is lost, the body ends as a connection does that was cut.
 */
export function eventStream({ world, call, key, longest, patience, client, frames }: Stream): Events {
  const { signal } = client
  const encoder = new TextEncoder()
  const timeOf = timesOf(world, call, key, longest)
  let next = frames.next()
  let sent = 0
  let isOver = false
  let abort = () => {}
  const end = () => {
    isOver = true
    signal.removeEventListener('abort', abort)
  }
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      start(controller) {
        abort = () => {
          if (isOver) return
          end()
          patience.now()
          call.leave(sent)
          // A server cancels the body in the same breath, and must not take this for a failure of its own.
          queueMicrotask(() => controller.error(signal.reason))
        }
        signal.addEventListener('abort', abort, { once: true })
      },
      async pull(controller) {
        if (!next.done && !patience.isInstant) {
          try {
            const due = timeOf(next.value.token)
            for (let now = patience.now(); now < due && isGoing(call); now = patience.now()) {
              await waited(call, patience, due - now, client, 'body')
            }
          } catch (error) {
            if (isOver) return
            end()
            throw error
          }
          if (isOver) return
        }
        if (call.state === 'broken' || call.state === 'cutOff' || call.state === 'turnedAway') {
          end()
          controller.error(bodyCut(call.reason))
          return
        }
        const now = patience.isInstant ? undefined : patience.now()
        let text = ''
        while (!next.done && text.length < PIECE && (now === undefined || timeOf(next.value.token) <= now)) {
          text += `data: ${next.value.data}\n\n`
          sent = next.value.token + 1
          next = frames.next()
        }
        controller.enqueue(encoder.encode(text))
        if (!next.done) return
        end()
        call.served()
        controller.close()
      },
      cancel() {
        if (isOver) return
        end()
        patience.now()
        call.leave(sent)
      },
    },
    // Nothing is made before somebody reads.
    { highWaterMark: 0 },
  )
  return new Events(body)
}

function isGoing(call: InferenceCall): boolean {
  return call.state === 'running' || call.state === 'served'
}

/** When each token comes: evenly, but for the jitter of the profile; the last comes when the answer ends. */
function timesOf(world: World, call: InferenceCall, key: Key, longest: number): (token: number) => number {
  const sigma = world.profile.timings.tokenJitter / Math.SQRT2
  return token => {
    if (token <= 0) return call.firstTokenAt
    const last = Math.min(token, longest - 1)
    const draw = last === longest - 1 ? 0 : sigma * normalQuantile(world.chance.unit(key, JITTER, token))
    const late = Math.max(-MOST_JITTER, Math.min(MOST_JITTER, draw))
    return call.firstTokenAt + Math.ceil((last + late) * call.tokenTime)
  }
}
