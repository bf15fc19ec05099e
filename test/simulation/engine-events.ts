/** A reference for the waits of prompts: every step of every instance as an event. It is slow, and has no closed form. */
import type { InstanceEngine } from '../../src/simulation/load/engine.ts'

export interface Arrival {
  readonly at: number
  readonly prompt: number
  readonly answer: number
}

interface Waiting extends Arrival {
  left: number
  begun: number
}

interface Running {
  readonly request: Waiting
  readonly firstTokenAt: number
  tokens: number
}

/** What a request took, in seconds from its arrival. */
export interface TimedRequest {
  /** Until its prompt is read. */
  readonly wait: number
  readonly firstToken: number
  readonly end: number
}

/**
 * Returns what each request took, in the order of their ends. Instances decode continuously and read prompts in
 * chunks; a request goes to the instance with the fewest.
 */
export function timesByEvents(arrivals: readonly Arrival[], engine: InstanceEngine, instances: number): TimedRequest[] {
  const { stepTokens, constants } = engine.workload
  const times: TimedRequest[] = []
  const end = ({ at, begun }: Waiting, firstTokenAt: number, endAt: number) =>
    times.push({
      wait: begun - at,
      firstToken: firstTokenAt - at + constants.serverTime,
      end: endAt - at + constants.serverTime,
    })
  const engines = Array.from({ length: instances }, () => ({ at: 0, queue: [] as Waiting[], running: [] as Running[] }))
  const runStep = (one: (typeof engines)[number]) => {
    let room = stepTokens - one.running.length
    let read = 0
    const decoding = one.running.length
    const done: Waiting[] = []
    for (const request of one.queue) {
      if (room <= 0 || one.running.length + done.length >= engine.places) break
      if (request.begun < 0) request.begun = one.at
      const part = Math.min(room, request.left)
      request.left -= part
      room -= part
      read += part
      if (request.left > 0) break
      done.push(request)
    }
    one.at += engine.step(decoding, read)
    for (const running of one.running) {
      running.tokens--
      if (running.tokens <= 0) end(running.request, running.firstTokenAt, one.at)
    }
    one.running = one.running.filter(({ tokens }) => tokens > 0)
    for (const request of done) {
      if (request.answer > 1) one.running.push({ request, firstTokenAt: one.at, tokens: request.answer - 1 })
      else end(request, one.at, one.at)
    }
    one.queue.splice(0, done.length)
  }
  const runUntil = (until: number) => {
    for (const one of engines) {
      while (one.at < until && (one.queue.length > 0 || one.running.length > 0)) runStep(one)
      if (one.at < until) one.at = until
    }
  }
  for (const arrival of arrivals) {
    runUntil(arrival.at)
    const [least] = [...engines].sort((a, b) => a.queue.length + a.running.length - b.queue.length - b.running.length)
    least!.queue.push({ ...arrival, left: arrival.prompt, begun: -1 })
  }
  runUntil(Number.POSITIVE_INFINITY)
  return times
}
