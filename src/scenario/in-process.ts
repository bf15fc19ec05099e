import { operations } from '../api/index.ts'
import { AwaitedAnswer, type Whereabouts } from '../awaited-answer.ts'
import type { LedgerEntry } from '../cluster/ledger.ts'
import { arrive } from '../faults/arrival.ts'
import { BrokenAnswer, isStream } from '../faults/broken.ts'
import { type Duration, type Micros, micros, readable } from '../kernel/duration.ts'
import type { Entry, Fields } from '../kernel/journal.ts'
import { nearest } from '../kernel/nearest.ts'
import { createSimulator, type Simulator } from '../simulator.ts'
import { awaitAnswer, awaitHeld, readAsTimeGoes } from './patience.ts'
import { type ScenarioOptions, worldOf } from './scenario.ts'
import type { Order, Pass, Stage, StageClock, StageFaults } from './stage.ts'

/** Looks at a world that does not change, after which a script is taken for one that polls a clock that stands. */
const MOST_LOOKS = 20_000

/** A world of this process. */
export class InProcessStage implements Stage {
  readonly baseUrl = 'http://sim'
  readonly clock: StageClock
  bug: unknown
  readonly #sim: Simulator
  readonly #record: Entry[] = []
  readonly #stopListening: () => void
  #sleeps: { readonly at: Micros; readonly duration: Duration }[] = []
  #changes = 0
  #looks = 0
  #pulseAtLook = 0
  #entering: Promise<unknown> = Promise.resolve()

  /** @throws FixtureError or RangeError for options that make no world */
  constructor(options: ScenarioOptions) {
    this.#sim = createSimulator({
      ...worldOf(options),
      onBug: error => {
        this.bug ??= error
      },
    })
    // Rules that are there from the start were added before anybody could listen.
    this.#record.push(...this.#sim.journal.entries())
    this.#stopListening = this.#sim.journal.listen(entry => {
      if (!isLook(entry)) this.#changes += isHitOfLook(entry) ? 0 : 1
      else if (isLook(this.#record.at(-1))) this.#record.pop()
      this.#record.push(entry)
    })
    this.clock = this.#clock()
  }

  get seed(): string {
    return this.#sim.seed
  }

  get token(): string {
    return this.#sim.token
  }

  get revision(): number {
    return this.#sim.clock.elapsed + this.#changes
  }

  get pulse(): number {
    return this.revision
  }

  get waiting(): string | undefined {
    const now = this.#sim.clock.elapsed
    const open = this.#sleeps.filter(({ at }) => at > now)
    if (open.length === 0) return undefined
    const first = open.reduce((one, other) => (other.at < one.at ? other : one))
    return unmoved(first.duration, first.at - now)
  }

  async send(request: Request, pass: Pass): Promise<Response> {
    this.#look()
    const what = `${request.method} ${new URL(request.url).pathname}`
    const [awaited, first] = await this.#entered(request)
    const leave = (reason: Error) => awaited.leave(reason)
    let known: Whereabouts | undefined = first
    const look = async () => {
      const seen = known ?? (await awaited.look())
      known = undefined
      return seen
    }
    const answer = await awaitHeld({ look, leave, pass }, request, what, this.#sim.clock)
    const come = await this.#arrived(answer, request, pass)
    if (!awaited.isPaced || !isStream(come)) return come
    const { body } = come
    return readAsTimeGoes(come, { read: () => awaited.read(body!), leave, pass }, request, what)
  }

  /** One enters after the other: bodies are read in no order, and what is asked first happens first. */
  #entered(request: Request): Promise<readonly [AwaitedAnswer, Whereabouts]> {
    const entered = this.#entering.then(async () => {
      const awaited = new AwaitedAnswer(patienceOf => this.#sim.answer(request, { patienceOf }))
      return [awaited, await awaited.look()] as const
    })
    this.#entering = entered.catch(() => {})
    return entered
  }

  async #arrived(answer: Response, request: Request, pass: Pass): Promise<Response> {
    if (!(answer instanceof BrokenAnswer)) return answer
    return arrive(answer, delay => this.#wait(delay, request, pass)).catch((error: unknown) => {
      throw error instanceof Error ? Object.assign(error, { broken: true }) : error
    })
  }

  async meanwhile(span: Micros, over: Promise<unknown>): Promise<void> {
    const leaving = new AbortController()
    const come = this.#sim.clock.hold(span, { signal: leaving.signal }).catch(() => {})
    await Promise.race([come, over])
    leaving.abort()
  }

  get faults(): StageFaults {
    const { faults } = this.#sim
    return {
      add: async rule => faults.get(faults.add(rule).id),
      list: async () => faults.list(),
      get: async id => faults.get(id),
      remove: async id => faults.remove(id),
      clear: async () => faults.clear(),
    }
  }

  /** Lets time come to what the client waits for; sleeps where time is being moved already. */
  #wait(delay: Micros, { method, url, signal }: Request, pass: Pass): Promise<void> {
    const { clock } = this.#sim
    const wait = (span: Micros) => (clock.isMoving ? clock.hold(span, { signal }) : pass(span))
    return awaitAnswer(delay, `${method} ${new URL(url).pathname}`, wait, clock)
  }

  async command(order: Order): Promise<unknown> {
    this.#look()
    let target: unknown = this.#sim.cluster
    for (const { name, args } of order) {
      if (name === 'view') return viewOf(target as object)
      const member = (target as Record<string, unknown>)[name]
      if (args === undefined) target = member
      else if (typeof member === 'function') target = member.apply(target, args)
      else throw noVerb(order, name, Object.keys(target as object))
    }
    return target
  }

  async balance(): Promise<number> {
    this.#look()
    return this.#sim.ledger.balance
  }

  async ledgerEntries(): Promise<readonly LedgerEntry[]> {
    this.#look()
    return this.#sim.ledger.entries()
  }

  note(kind: string, subject: string, fields: Fields): void {
    this.#record.push({ seq: 0, time: this.#sim.clock.elapsed, kind, subject, cause: 0, fields })
  }

  async record(): Promise<readonly Entry[]> {
    return this.#record
  }

  async digest(): Promise<string> {
    return this.#sim.digest
  }

  async close(): Promise<void> {
    this.#stopListening()
  }

  #clock(): StageClock {
    const { clock } = this.#sim
    return {
      get now() {
        return clock.now
      },
      get iso() {
        return clock.iso
      },
      get elapsed() {
        return clock.elapsed
      },
      advance: duration => clock.advance(duration),
      advanceTo: moment => clock.advanceTo(moment),
      next: options => clock.next(options),
      until: (predicate, options) => clock.until(predicate, options),
      sleep: async duration => {
        const sleep = { at: clock.elapsed + micros(duration), duration }
        this.#sleeps.push(sleep)
        try {
          await clock.sleep(duration)
        } finally {
          this.#sleeps = this.#sleeps.filter(other => other !== sleep)
        }
      },
    }
  }

  /** Answers come without a turn of the event loop, so a script that polls a standing clock would never let go. */
  #look(): void {
    if (this.pulse !== this.#pulseAtLook) this.#looks = 0
    this.#pulseAtLook = this.pulse
    if (++this.#looks > MOST_LOOKS) {
      throw new Error(
        `Failed to go on: the script has asked ${MOST_LOOKS} times at ${this.#sim.clock.iso} and nothing changed. ` +
          'Time moves only by the clock: use clock.until or clock.advance instead of polling.',
      )
    }
  }
}

/** A request that changes nothing. Only the last of a row of them is kept: it says what a script was looking at. */
export function isLook(entry: Entry | undefined): boolean {
  return entry?.kind === 'request' && /^(GET|HEAD) /.test(entry.subject)
}

/** A fault of the wire that befell a look: nothing of the world has changed by it. */
function isHitOfLook({ kind, fields }: Entry): boolean {
  const hit = kind === 'fault.hit' ? operations[fields?.operation as keyof typeof operations] : undefined
  return hit?.method === 'GET'
}

function viewOf(target: object): unknown {
  return Object.fromEntries(Object.entries(target).filter(([, value]) => typeof value !== 'function'))
}

/** What a script waits for that sleeps on a clock which it does not move. */
export function unmoved(duration: Duration, left: Micros): string {
  return `clock.sleep(${JSON.stringify(duration)}) ends in ${readable(left)}, and nothing moves the clock while the script awaits it`
}

export function noVerb(order: Order, name: string, names: readonly string[]): Error {
  const path = order.map(step => step.name).join('.')
  const hint = nearest(name, names)
  return new RangeError(
    `Failed to do cluster.${path}: there is no verb '${name}'. ` +
      (hint ? `Did you mean '${hint}'?` : `There are ${names.join(', ')}.`),
  )
}
