/** Random plays of clients, faults, commands and time, with requests that overlap. */
import fc from 'fast-check'
import { createSimulator, type ExplorableSimulator, type SimulatorOptions } from '../../../src/index.ts'
import { eventLoopTurn } from '../../../src/lib/real-time.ts'
import { sendTo } from '../../setup/send-to.ts'
import { type Action, action, perform } from '../../simulation/invariants/actions.ts'

const MODELS = ['acme/assistant', 'acme/chat', 'aurora-labs/aurora-8b-instruct', 'unknown/nothing'] as const
const WIRE_FAULTS = [
  { kind: 'latency', delay: '3s', jitter: '2s' },
  { kind: 'reset', effect: 'done' },
  { kind: 'status', status: 503 },
  { kind: 'truncated' },
  { kind: 'duplicate' },
  { kind: 'rateLimit', retryAfter: '2s' },
  { kind: 'html' },
] as const

type Play =
  | { do: 'world'; action: Action }
  | { do: 'chat'; model: string; stream: boolean; words: string }
  | { do: 'leave'; which: number }
  | { do: 'fault'; on: string; fault: (typeof WIRE_FAULTS)[number]; trigger: object }
  | { do: 'clearFaults' }
  | { do: 'script' | 'reset' | 'snapshot' | 'restore' | 'next' | 'foreign' | 'write' | 'jump' | 'until' }

export const play: fc.Arbitrary<Play> = fc.oneof(
  {
    weight: 8,
    arbitrary: action
      // It calls the world, not its interface.
      .filter(one => one.do !== 'chat')
      .map(one => ({ do: 'world' as const, action: one })),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('chat' as const),
      model: fc.constantFrom(...MODELS),
      stream: fc.boolean(),
      words: fc.constantFrom('hello', 'tell a long story', 'weather', 'a secret €'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('leave' as const), which: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('fault' as const),
      on: fc.constantFrom('*', 'createChatCompletion', 'GET /deploy/list', 'createLlmDeployment', 'uploadFile'),
      fault: fc.constantFrom(...WIRE_FAULTS),
      trigger: fc.constantFrom({ chance: 0.5 }, { times: 1 }, { nth: 2 }, {}),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('clearFaults' as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom(
        ...(['script', 'snapshot', 'restore', 'next', 'next', 'foreign', 'write', 'jump', 'jump', 'until'] as const),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reset' as const) }) },
)

export const clock = fc.constantFrom('manual', 'follow', 'on-poll', 'manual') as fc.Arbitrary<
  'manual' | 'follow' | 'on-poll'
>

/** The world of a play, and what its clients do. */
export class Player {
  readonly sim: ExplorableSimulator
  #now = 0
  #saved: ReturnType<ExplorableSimulator['snapshot']> | undefined
  readonly #open: AbortController[] = []
  readonly #ended: Promise<unknown>[] = []

  constructor(options: SimulatorOptions, mode: 'manual' | 'follow' | 'on-poll') {
    const setting = mode === 'follow' ? { mode, now: () => this.#now } : mode
    this.sim = createSimulator({ seed: 11, ...options, clock: setting })
  }

  async play(one: Play): Promise<void> {
    const { sim } = this
    switch (one.do) {
      case 'world':
        // Without await: requests overlap with what follows.
        this.#ended.push(perform(sim, one.action).catch(() => {}))
        return
      case 'chat':
        this.#ended.push(this.#chat(one).catch(() => {}))
        return
      case 'leave':
        this.#open[one.which]?.abort()
        return
      case 'fault':
        sim.faults.add({ on: one.on, ...one.trigger, fault: one.fault } as never)
        return
      case 'clearFaults':
        sim.faults.clear()
        return
      case 'script':
        if (sim.inference.list().length > 1) sim.inference.clear()
        else sim.inference.add({ contains: 'weather', times: 2, answer: { text: 'Sunny.' } })
        return
      case 'reset':
        sim.reset()
        return
      case 'snapshot':
        this.#saved = sim.snapshot()
        return
      case 'restore':
        if (this.#saved !== undefined) sim.restore(this.#saved)
        return
      case 'next':
        await sim.clock.next({ within: '2d' }).catch(() => {})
        return
      case 'jump':
        // The next request finds a later time. In the mode follow, that moves the world.
        this.#now += 45_000
        await sim.clock.advance('20s').catch(() => {})
        return
      case 'until': {
        const isThere = () => sim.journal.entries().at(-1)?.kind.startsWith('instance.') ?? false
        await sim.clock.until(isThere, { within: '1h' }).catch(() => {})
        return
      }
      case 'foreign':
        for (const [path, init] of [
          ['/deploy/list', { headers: { authorization: 'Bearer of-another-account' } }],
          ['/no/such/path?q=1', { method: 'PATCH', body: 'x' }],
          ['/openapi.json', {}],
        ] as const) {
          this.#ended.push(
            sim.fetch(`http://sim${path}`, init).then(
              answer => answer.text(),
              () => {},
            ),
          )
        }
        return
      case 'write': {
        const data = await sim.data()
        const at = data.voices.count() + 1
        await data.voices
          .create({ user_id: 'user_1', voice_id: `voice_${at}`, name: `V${at}`, created_at: 0, updated_at: 0 } as never)
          .catch(() => {})
      }
    }
  }

  async #chat({ model, stream, words }: Extract<Play, { do: 'chat' }>): Promise<void> {
    const client = new AbortController()
    this.#open.unshift(client)
    const answer = await sendTo(
      this.sim,
      'POST /v1/chat/completions',
      { model, stream, messages: [{ role: 'user', content: words }] },
      { signal: client.signal },
    )
    await answer.text()
  }

  /** Resolves when no request is in progress. */
  async settle(): Promise<void> {
    for (const client of this.#open) client.abort()
    const settled = Promise.allSettled(this.#ended)
    // Faults delay some answers.
    for (let turn = 0; turn < 5; turn++) await this.sim.clock.advance('1m').catch(() => {})
    // One that arrives later still waits.
    await Promise.race([settled, eventLoopTurn()])
  }

  /** Ends all clients. */
  async close(): Promise<void> {
    for (const client of this.#open) client.abort()
    await this.sim[Symbol.asyncDispose]()
  }
}
