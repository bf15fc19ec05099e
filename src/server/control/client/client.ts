/** The typed client of the control plane, made from its declarations: of a server, or of a simulator in the process. */
import { assertKnownKeys } from '../../../lib/known-keys.ts'
import { quote } from '../../../lib/quote.ts'
import {
  type ClientOf,
  createClientFor,
  type RequestFor,
  type ResponseFor,
  type SendRequest,
} from '../../../service/client/client.ts'
import { toPathAndQuery } from '../../../service/http/request-context.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { Worlds } from '../../worlds/worlds.ts'
import { controlOperations, createControl } from '../index.ts'
import { type ControlEvent, type EventsOptions, eventsQuery, readEvents } from './events.ts'

/** A running server. */
export interface ControlAddress {
  /** As in `http://127.0.0.1:4010`, or the `base_url` of one of its worlds. */
  readonly url: string
  /** Token of its control plane, which a server beyond loopback requires. */
  readonly token?: string | undefined
}

type Operations = Omit<typeof controlOperations, 'watchEvents'>

/**
 * A client of the control plane. Each operation of `docs/control.md` is a method: the fields of path, query and body are
 * one object. A method throws Refusal if the answer is not a success.
 */
export type ControlClient = Omit<ClientOf<Operations>, 'as' | 'raw'> & {
  /**
   * Reads journal entries and requests as they happen. A `break` ends the connection.
   *
   * @example
   * for await (const event of control.events({ kind: 'deployment.*' })) {
   *   if (event.type === 'entry') console.log(event.entry.at, event.entry.kind, event.entry.subject)
   * }
   */
  events(options?: EventsOptions): AsyncIterableIterator<ControlEvent>
}

const EVENTS_OPTIONS: readonly (keyof EventsOptions)[] = ['kind', 'subject', 'after', 'follow', 'signal']

/**
 * Creates a client of the control plane of a server, or of a simulator in this process. Both give the same answers.
 *
 * @throws RangeError for an invalid address
 * @example
 * const control = createControlClient({ url: 'http://127.0.0.1:4010' })
 * await control.advanceClock({ by: '2h' })
 * const { requests } = await control.listRequests({ status: '4xx' })
 */
export function createControlClient(target: ControlAddress | Simulator): ControlClient {
  const { baseUrl, send } = isSimulator(target) ? inProcess(target) : overHttp(target)
  const client = createClientFor(controlOperations, send, { baseUrl })
  const { as, raw, watchEvents, ...operations } = client
  return {
    ...operations,
    events(options: EventsOptions = {}) {
      assertKnownKeys(options, EVENTS_OPTIONS, 'Failed to read events')
      const { signal } = options
      if (signal !== undefined && !(signal instanceof AbortSignal)) {
        throw new RangeError(`Failed to read events: the signal is ${quote(signal)}. Give an AbortSignal.`)
      }
      const url = `${baseUrl}/_sim/events${eventsQuery(options)}`
      return readEvents(async () => send(new Request(url, signal && { signal })), signal)
    },
  }
}

interface Connection {
  /** Without a slash at its end. */
  readonly baseUrl: string
  readonly send: SendRequest
}

function isSimulator(target: ControlAddress | Simulator): target is Simulator {
  return typeof target === 'object' && target !== null && 'clock' in target && 'world' in target
}

function inProcess(sim: Simulator): Connection {
  const control = createControl(new Worlds(sim))
  return { baseUrl: 'http://sim', send: request => control.answer(sim, request, { path: toPathAndQuery(request.url) }) }
}

function overHttp(address: ControlAddress): Connection {
  const context = 'Failed to create a control client'
  assertKnownKeys(address, ['url', 'token'], context)
  const { url, token } = address
  if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:[^?#]*$/i.test(url)) {
    throw new RangeError(
      `${context}: the url is ${quote(url)}. Give one as in 'http://127.0.0.1:4010', or a simulator.`,
    )
  }
  if (token !== undefined && (typeof token !== 'string' || !/^[!-~]+$/.test(token))) {
    throw new RangeError(
      `${context}: invalid token. Give the text that the server printed, in ASCII and without spaces.`,
    )
  }
  const baseUrl = url.replace(/\/+$/, '')
  return {
    baseUrl,
    async send(request) {
      if (token !== undefined) request.headers.set('x-sim-control-token', token)
      try {
        return await fetch(request)
      } catch (cause) {
        if (request.signal.aborted) throw cause
        const { code } = ((cause as Error).cause ?? {}) as { code?: string }
        const advice = "Start one with 'npx modelhost-sim serve', or correct the url."
        throw new Error(`Failed to reach a simulator at ${baseUrl}: ${code ?? (cause as Error).message}. ${advice}`, {
          cause,
        })
      }
    },
  }
}

type Served = typeof controlOperations

/** The answer of each operation. */
export type AnswersByRoute = { [Id in keyof Served as Served[Id]['route']]: ResponseFor<Served[Id]> }

/** The fields of path, query and body of each operation, in one object. */
export type FieldsByRoute = { [Id in keyof Served as Served[Id]['route']]: RequestFor<Served[Id]> }

/** A route of the control plane. */
export type ControlRoute = keyof AnswersByRoute
