import type { Lifecycle } from '../../data/records/lifecycle.ts'
import type { Micros } from '../../kernel/duration.ts'
import { formatTraceLine } from '../../kernel/entry.ts'
import { describeRow, type Row, type RowClass } from '../../kernel/row.ts'
import { MeterRow } from '../account/ledger-types.ts'
import { BatchRow } from '../batches/batch-row.ts'
import type { StepObserver } from '../context.ts'
import { DeploymentRow } from '../deployments/deployment-row.ts'
import { InstanceRow } from '../deployments/instance-row.ts'
import { NodeRow } from '../fleet/node-row.ts'
import { InferenceRow } from '../inference/request-row.ts'
import { countsAgainstQuota, RENTAL_LIFECYCLES, RentalRow, type RentalState } from '../rentals/rental-row.ts'
import type { World } from '../world.ts'
import { AccountInvariants } from './account.ts'
import { BatchInvariants } from './batches.ts'
import { DeploymentInvariants } from './deployments.ts'
import { FleetInvariants } from './fleet.ts'
import { InferenceInvariants } from './inference.ts'
import {
  InvariantError,
  type InvariantName,
  type ReportViolation,
  type Violation,
  WorldInvariants,
} from './invariant.ts'

/** What a rental was when it was looked at last. */
interface CheckedRental {
  readonly state: RentalState
  readonly updatedAt: Micros
  readonly storageGb: number
}

/** Of I6, I7, I9, I14 and I18 what concerns hosted instances and containers. */
class RentalInvariants extends WorldInvariants {
  readonly #checked: (CheckedRental | undefined)[] = []

  /** @param billedUnits units that its meter counts */
  onWrite(row: Readonly<RentalRow>, ordinal: number, billedUnits: number, report: ReportViolation): void {
    const before = this.#checked[ordinal]
    const subject = `${row.kind} ${row.id}`
    this.#checked[ordinal] = { state: row.state, updatedAt: row.updatedAt, storageGb: row.storageGb }
    if (before !== undefined) this.#checkTransition(row, before, subject, report)
    const { now } = this.world.clock
    if (row.updatedAt > now || row.since > now) report('I7', `${subject} was changed at a time that is to come`, row.id)
    const { kind, isPlaced, hasBooted, storageGb } = row
    if (!countsAgainstQuota(row.state) && (isPlaced || hasBooted || row.next !== 0)) {
      report('I14', `${subject} is ${row.state} and has a machine or GPUs, or something is due`, row.id)
    }
    const billableUnits = isPlaced && (hasBooted || this.world.profile.policies.billFrom === 'placed') ? 1 : 0
    if (billedUnits !== billableUnits) {
      const invariant = billableUnits < billedUnits ? 'I14' : 'I9'
      report(invariant, `${subject} is billed for ${billedUnits} units, ${billableUnits} are billable`, row.id)
    }
    if (kind === 'hosted' && (storageGb > 512 || storageGb < (before?.storageGb ?? 20))) {
      const was = before === undefined ? '' : `, it had ${before.storageGb}`
      report('I18', `${subject} has ${storageGb} GB of storage${was}`, row.id)
    }
  }

  #checkTransition(row: Readonly<RentalRow>, before: CheckedRental, subject: string, report: ReportViolation): void {
    const lifecycle: Pick<Lifecycle<RentalState>, 'has' | 'next'> = RENTAL_LIFECYCLES[row.kind]
    if (row.updatedAt < before.updatedAt) report('I7', `${subject} was changed before it was`, row.id)
    if (row.state === before.state) return
    if (!lifecycle.has(before.state) || !lifecycle.next(before.state).includes(row.state)) {
      report('I6', `${subject} went from ${before.state} to ${row.state}`, row.id)
    }
    if (row.state === 'failed' && row.failReason === '')
      report('I6', `${subject} has failed and says no reason`, row.id)
    if (row.state === 'running' && row.failReason !== '')
      report('I6', `${subject} runs and says ${row.failReason}`, row.id)
  }
}

/** How much of the story of a thing an error tells. */
const MAX_HISTORY_ENTRIES = 10

interface LocatedViolation extends Violation {
  readonly subject: string
}

/**
 * Checks the invariants of a world after every step: an event, a request, a command.
 *
 * It hears which rows were written and looks at those alone; what they add to a sum is taken out and put in again. So a
 * step costs what it changed, however large the world is.
 */
export class InvariantChecker implements StepObserver {
  readonly #world: World
  readonly #fleet: FleetInvariants
  readonly #deployments: DeploymentInvariants
  readonly #batches: BatchInvariants
  readonly #account: AccountInvariants
  readonly #rentals: RentalInvariants
  readonly #inference: InferenceInvariants
  readonly #written = new Map<Readonly<Row>, number>()
  readonly #removed = new Map<Readonly<Row>, number>()
  readonly #meters: (Readonly<MeterRow> | undefined)[] = []
  #now: number
  #openRequest: { readonly seq: number; readonly state: string } | undefined
  /** An event is happening, or a request: what is done meanwhile is part of it. */
  #isInsideStep = false

  /** Takes a whole world in. Nothing is checked yet: `settle` does that. */
  constructor(world: World) {
    this.#world = world
    this.#fleet = new FleetInvariants(world)
    this.#deployments = new DeploymentInvariants(world)
    this.#batches = new BatchInvariants(world)
    this.#account = new AccountInvariants(world)
    this.#rentals = new RentalInvariants(world)
    this.#inference = new InferenceInvariants(world)
    this.#now = world.clock.now
    const { nodes, instances, rentals, deployments, ledger, batches, inferenceRequests } = world
    for (const table of [nodes, instances, rentals, deployments, ledger.meters, batches, inferenceRequests]) {
      for (const [ordinal, row] of table.entries()) this.onWrite(row, ordinal)
    }
  }

  onWrite(row: Readonly<Row>, ordinal: number): void {
    this.#written.set(row, ordinal)
  }

  onRemove(row: Readonly<Row>, ordinal: number): void {
    this.#written.delete(row)
    this.#removed.set(row, ordinal)
  }

  /** Time is about to move: what code wrote to the world outside of any step is a step of its own. */
  onBeforeMove(): void {
    if (this.#written.size > 0 || this.#removed.size > 0) this.#check(() => 'what was done by hand')
  }

  /** An event begins to happen. */
  onEventBegan(): void {
    this.#isInsideStep = true
  }

  /**
   * An event has happened.
   *
   * @throws InvariantError
   */
  onEventFired(event: string, subject: number): void {
    this.#isInsideStep = false
    this.#check(() => `event ${event}${this.#formatSubject(event, subject)}`)
  }

  /** Checks after a command that ran at once. A scheduled command is part of its event. */
  onCommandExecuted(command: string, target: string): void {
    if (!this.#isInsideStep) this.#check(() => `command ${command}${target === '' ? '' : ` of ${target}`}`)
  }

  /** A request takes its place. */
  onRequestOpened(seq: number): void {
    this.#isInsideStep = true
    this.#openRequest = { seq, state: this.#visibleState() }
  }

  /**
   * A request has been answered. One that was refused must have changed nothing.
   *
   * @throws InvariantError
   */
  onRequestClosed(seq: number, subject: string, status: number): void {
    this.#isInsideStep = false
    const openRequest = this.#openRequest?.seq === seq ? this.#openRequest : undefined
    this.#openRequest = undefined
    this.#check(
      () => `request ${subject}, answered ${status}`,
      report => {
        if (openRequest === undefined || status < 400 || status >= 500) return
        const state = this.#visibleState()
        if (state !== openRequest.state) {
          const change = `${openRequest.state} to ${state}`
          report('I15', `${subject} was refused with ${status} and changed the world: ${change}`, subject)
        }
      },
    )
  }

  /** Looks at the whole world and returns what is broken. */
  checkWorld(): Violation[] {
    const violations = this.#findViolations(broken => this.#account.checkBalance(broken))
    return violations.map(({ invariant, message }) => ({ invariant, message }))
  }

  #check(after: () => string, checkMore?: (broken: ReportViolation) => void): void {
    const violations = this.#findViolations(checkMore)
    // Named while what was written is known; from here on the world counts as it is, so that a server can go on.
    const error = violations.length === 0 ? undefined : this.#createError(violations, after())
    this.#written.clear()
    this.#removed.clear()
    if (error) throw error
  }

  #findViolations(checkMore?: (report: ReportViolation) => void): LocatedViolation[] {
    const violations: LocatedViolation[] = []
    const broken = (invariant: InvariantName, message: string, subject: string) =>
      violations.push({ invariant, message, subject })
    this.#checkTime(broken)
    const written = this.#written
    for (const [row, ordinal] of this.#removed) this.#applyRemoval(row, ordinal, broken)
    for (const [row, ordinal] of written) {
      describeRow(row.constructor as RowClass<Row>).assertStorage(row)
      if (row instanceof NodeRow) this.#fleet.onNodeWrite(row, ordinal)
      else if (row instanceof MeterRow) {
        this.#meters[ordinal] = row
        this.#account.onMeterWrite(ordinal)
      }
    }
    const batches: Readonly<BatchRow>[] = []
    for (const [row, ordinal] of written) {
      if (row instanceof InstanceRow) {
        const previousDeployment = this.#fleet.deploymentOf(ordinal)
        if (previousDeployment !== undefined) this.#deployments.markChanged(previousDeployment)
        this.#deployments.markChanged(row.deployment)
        this.#inference.markChanged(row.deployment)
        this.#fleet.onInstanceWrite(row, ordinal, broken)
      } else if (row instanceof DeploymentRow) {
        this.#deployments.markChanged(ordinal)
        this.#inference.markChanged(ordinal)
      } else if (row instanceof InferenceRow) this.#inference.onWrite(row, ordinal, broken)
      else if (row instanceof BatchRow) {
        batches.push(row)
        this.#batches.onWrite(row, ordinal, broken)
      } else if (row instanceof RentalRow) {
        this.#fleet.onRentalWrite(row, ordinal, broken)
        this.#rentals.onWrite(row, ordinal, this.#meters[row.meter]?.units ?? 0, broken)
      }
    }
    this.#fleet.verify(broken)
    this.#account.verify(this.#deployments.changed, ordinal => this.#meters[ordinal]!, broken)
    for (const { id, chargedMicrocents } of batches) {
      const posted = this.#account.tokensOf(id)
      if (posted !== chargedMicrocents)
        broken('I13', `batch ${id} was charged ${posted}, its lines cost ${chargedMicrocents}`, id)
    }
    this.#deployments.verify(broken)
    this.#inference.verify(broken)
    checkMore?.(broken)
    return violations
  }

  #applyRemoval(row: Readonly<Row>, ordinal: number, report: ReportViolation): void {
    if (row instanceof InstanceRow) {
      this.#deployments.markChanged(row.deployment)
      this.#fleet.onInstanceRemove(ordinal)
    } else if (row instanceof NodeRow) this.#fleet.onNodeRemove(row, ordinal, report)
    else if (row instanceof InferenceRow) this.#inference.onRemove(ordinal)
  }

  /** I8: the clock has not gone back, and nothing waits for a moment that has passed. */
  #checkTime(report: ReportViolation): void {
    const { clock, agenda, store } = this.#world
    const { now } = clock
    if (now < this.#now) report('I8', `the clock went back from ${this.#now} to ${now}`, store.account.uid)
    if (agenda.nextTime < now) {
      report('I8', `an event is due at ${agenda.nextTime}, and it is ${now} already`, store.account.uid)
    }
    this.#now = now
  }

  /** What a refused request must leave as it was. */
  #visibleState(): string {
    const { digest, agenda, visibleChanges, ledger } = this.#world
    return `${digest}, ${agenda.size} planned, ${visibleChanges} changes, ${ledger.totals.postings.length} postings`
  }

  #formatSubject(event: string, subject: number): string {
    const kind = ROW_CLASS[event.slice(0, event.indexOf('.'))]
    if (kind === undefined) return ''
    for (const rows of [this.#removed, this.#written]) {
      for (const [row, ordinal] of rows) if (ordinal === subject && row instanceof kind) return ` of ${row.id}`
    }
    return ''
  }

  #createError(violations: readonly LocatedViolation[], after: string): InvariantError {
    const { clock, seed, journal } = this.#world
    const { subject } = violations[0]!
    const history = journal
      .entries()
      .filter(entry => entry.subject === subject)
      .slice(-MAX_HISTORY_ENTRIES)
      .map(formatTraceLine)
    const where =
      `Seen after ${after}, at ${clock.iso()} (${clock.now} µs), seed ${JSON.stringify(seed)}.\n` +
      `  To see it again: the same fixture, profile and requests with this seed, stopped by advanceTo('${clock.iso()}').`
    return new InvariantError(
      violations.map(({ invariant, message }) => ({ invariant, message })),
      { after: where, history },
    )
  }
}

/** Whose ordinal the subject of an event is, by the first word of its name. */
const ROW_CLASS: Readonly<Record<string, abstract new (...args: never[]) => Row>> = {
  instance: InstanceRow,
  node: NodeRow,
  deployment: DeploymentRow,
  adapter: DeploymentRow,
  batch: BatchRow,
  inference: InferenceRow,
  rental: RentalRow,
}

/**
 * Checks the invariants of a world from now on: after every event, request and command. Its forks are checked, too.
 *
 * @throws InvariantError at once for one that is violated already; from then on from whatever moves the world
 */
export function checkInvariants(world: World): void {
  world.observeSteps(observed => new InvariantChecker(observed))
}
