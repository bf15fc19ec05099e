import { traceLine } from '../../kernel/journal.ts'
import type { Row, Witness } from '../../kernel/table.ts'
import { BatchRow } from '../batch-row.ts'
import { DeploymentRow } from '../deployment-row.ts'
import { InferenceRow } from '../inference-row.ts'
import { InstanceRow } from '../instances.ts'
import { MeterRow } from '../ledger-row.ts'
import { NodeRow } from '../nodes.ts'
import { RentalRow } from '../rental-row.ts'
import type { World } from '../world.ts'
import { BatchLaws } from './batches.ts'
import { DeploymentLaws } from './deployments.ts'
import { FleetLaws } from './fleet.ts'
import { InferenceLaws } from './inference.ts'
import { type Broken, LawError, type LawName, type Violation } from './law.ts'
import { MoneyLaws } from './money.ts'
import { RentalLaws } from './rentals.ts'

/** How much of the story of a thing an error tells. */
const STORY = 10

interface Found extends Violation {
  readonly subject: string
}

/**
 * Holds a world to its laws after every step: an event, a request, a command.
 *
 * It hears which rows were written and looks at those alone; what they add to a sum is taken out and put in again. So a
 * step costs what it changed, however large the world is.
 */
export class Watch implements Witness {
  readonly #world: World
  readonly #fleet: FleetLaws
  readonly #deployments: DeploymentLaws
  readonly #batches: BatchLaws
  readonly #money: MoneyLaws
  readonly #rentals: RentalLaws
  readonly #inference: InferenceLaws
  readonly #written = new Map<Readonly<Row>, number>()
  readonly #removed = new Map<Readonly<Row>, number>()
  readonly #meterRows: (Readonly<MeterRow> | undefined)[] = []
  #now: number
  #asked: { readonly seq: number; readonly state: string } | undefined
  /** An event is happening, or a request: what is done meanwhile is part of it. */
  #within = false

  /** Takes a whole world in. Nothing is checked yet: `settle` does that. */
  constructor(world: World) {
    this.#world = world
    this.#fleet = new FleetLaws(world)
    this.#deployments = new DeploymentLaws(world)
    this.#batches = new BatchLaws(world)
    this.#money = new MoneyLaws(world)
    this.#rentals = new RentalLaws(world)
    this.#inference = new InferenceLaws(world)
    this.#now = world.clock.now
    for (const [ordinal, row] of world.nodes.entries()) this.wrote(row, ordinal)
    for (const [ordinal, row] of world.instances.entries()) this.wrote(row, ordinal)
    for (const [ordinal, row] of world.rentals.entries()) this.wrote(row, ordinal)
    for (const [ordinal, row] of world.deployments.entries()) this.wrote(row, ordinal)
    for (const [ordinal, row] of world.ledger.meters()) this.wrote(row, ordinal)
    for (const [ordinal, row] of world.batches.entries()) this.wrote(row, ordinal)
    for (const [ordinal, row] of world.inference.entries()) this.wrote(row, ordinal)
  }

  wrote(row: Readonly<Row>, ordinal: number): void {
    this.#written.set(row, ordinal)
  }

  removed(row: Readonly<Row>, ordinal: number): void {
    this.#written.delete(row)
    this.#removed.set(row, ordinal)
  }

  /** Time is about to move: what code wrote to the world outside of any step is a step of its own. */
  leaving(): void {
    if (this.#written.size > 0 || this.#removed.size > 0) this.#check(() => 'what was done by hand')
  }

  /** An event begins to happen. */
  began(): void {
    this.#within = true
  }

  /**
   * An event has happened.
   *
   * @throws LawError
   */
  fired(event: string, subject: number): void {
    this.#within = false
    this.#check(() => `event ${event}${this.#nameOf(event, subject)}`)
  }

  /** A command was obeyed, at once; one that waited for its moment is part of that event. */
  obeyed(verb: string, target: string): void {
    if (!this.#within) this.#check(() => `command ${verb}${target === '' ? '' : ` of ${target}`}`)
  }

  /** A request takes its place. */
  opened(seq: number): void {
    this.#within = true
    this.#asked = { seq, state: this.#state() }
  }

  /**
   * A request has been answered. One that was refused must have changed nothing.
   *
   * @throws LawError
   */
  closed(seq: number, subject: string, status: number): void {
    this.#within = false
    const asked = this.#asked?.seq === seq ? this.#asked : undefined
    this.#asked = undefined
    this.#check(
      () => `request ${subject}, answered ${status}`,
      broken => {
        if (asked === undefined || status < 400 || status >= 500) return
        const state = this.#state()
        if (state !== asked.state) {
          broken(
            'I15',
            `${subject} was refused with ${status} and changed the world: ${asked.state} to ${state}`,
            subject,
          )
        }
      },
    )
  }

  /** Looks at the whole world and returns what is broken. */
  recount(): Violation[] {
    const found = this.#look(broken => this.#money.recount(broken))
    return found.map(({ law, message }) => ({ law, message }))
  }

  #check(after: () => string, further?: (broken: Broken) => void): void {
    const found = this.#look(further)
    // Named while what was written is known; from here on the world counts as it is, so that a server can go on.
    const error = found.length === 0 ? undefined : this.#error(found, after())
    this.#written.clear()
    this.#removed.clear()
    if (error) throw error
  }

  #look(further?: (broken: Broken) => void): Found[] {
    const found: Found[] = []
    const broken = (law: LawName, message: string, subject: string) => found.push({ law, message, subject })
    this.#checkTime(broken)
    const written = this.#written
    for (const [row, ordinal] of this.#removed) this.#takeOut(row, ordinal, broken)
    for (const [row, ordinal] of written) {
      if (row instanceof NodeRow) this.#fleet.wroteNode(row, ordinal)
      else if (row instanceof MeterRow) {
        this.#meterRows[ordinal] = row
        this.#money.wroteMeter(ordinal)
      }
    }
    const batches: Readonly<BatchRow>[] = []
    for (const [row, ordinal] of written) {
      if (row instanceof InstanceRow) {
        const before = this.#fleet.deploymentOf(ordinal)
        if (before !== undefined) this.#deployments.touch(before)
        this.#deployments.touch(row.deployment)
        this.#inference.touch(row.deployment)
        this.#fleet.wroteInstance(row, ordinal, broken)
      } else if (row instanceof DeploymentRow) {
        this.#deployments.touch(ordinal)
        this.#inference.touch(ordinal)
      } else if (row instanceof InferenceRow) this.#inference.wrote(row, ordinal, broken)
      else if (row instanceof BatchRow) {
        batches.push(row)
        this.#batches.wrote(row, ordinal, broken)
      } else if (row instanceof RentalRow) {
        this.#fleet.wroteRental(row, ordinal, broken)
        this.#rentals.wrote(row, ordinal, this.#meterRows[row.meter]?.units ?? 0, broken)
      }
    }
    this.#fleet.settle(broken)
    this.#money.settle(this.#deployments.touched, ordinal => this.#meterRows[ordinal]!, broken)
    for (const { id, charged } of batches) {
      const posted = this.#money.tokensOf(id)
      if (posted !== charged) broken('I13', `batch ${id} was charged ${posted}, its lines cost ${charged}`, id)
    }
    this.#deployments.settle(broken)
    this.#inference.settle(broken)
    further?.(broken)
    return found
  }

  #takeOut(row: Readonly<Row>, ordinal: number, broken: Broken): void {
    if (row instanceof InstanceRow) {
      this.#deployments.touch(row.deployment)
      this.#fleet.removedInstance(ordinal)
    } else if (row instanceof NodeRow) this.#fleet.removedNode(row, ordinal, broken)
    else if (row instanceof InferenceRow) this.#inference.removed(ordinal)
  }

  /** I8: the clock has not gone back, and nothing waits for a moment that has passed. */
  #checkTime(broken: Broken): void {
    const { clock, agenda, store } = this.#world
    const { now } = clock
    if (now < this.#now) broken('I8', `the clock went back from ${this.#now} to ${now}`, store.account.uid)
    if (agenda.nextTime < now) {
      broken('I8', `an event is due at ${agenda.nextTime}, and it is ${now} already`, store.account.uid)
    }
    this.#now = now
  }

  /** What a refused request must leave as it was. */
  #state(): string {
    const { digest, agenda, visibleChanges, ledger } = this.#world
    return `${digest}, ${agenda.size} planned, ${visibleChanges} changes, ${ledger.books.postings.length} postings`
  }

  #nameOf(event: string, subject: number): string {
    const kind = KIND_OF[event.slice(0, event.indexOf('.'))]
    if (kind === undefined) return ''
    for (const rows of [this.#removed, this.#written]) {
      for (const [row, ordinal] of rows) if (ordinal === subject && row instanceof kind) return ` of ${row.id}`
    }
    return ''
  }

  #error(found: readonly Found[], after: string): LawError {
    const { clock, seed, journal } = this.#world
    const { subject } = found[0]!
    const story = journal
      .entries()
      .filter(entry => entry.subject === subject)
      .slice(-STORY)
      .map(traceLine)
    const where =
      `Seen after ${after}, at ${clock.iso()} (${clock.now} µs), seed ${JSON.stringify(seed)}.\n` +
      `  To see it again: the same fixture, profile and requests with this seed, stopped by advanceTo('${clock.iso()}').`
    return new LawError(
      found.map(({ law, message }) => ({ law, message })),
      { after: where, story },
    )
  }
}

/** Whose ordinal the subject of an event is, by the first word of its name. */
const KIND_OF: Readonly<Record<string, abstract new (...args: never[]) => Row>> = {
  instance: InstanceRow,
  node: NodeRow,
  deployment: DeploymentRow,
  adapter: DeploymentRow,
  batch: BatchRow,
  inference: InferenceRow,
  rental: RentalRow,
}
