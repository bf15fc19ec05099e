/** A recording as the steps of a test: requests at their times, what else happened, and the statuses to expect. */

import type { Micros } from '../../../kernel/duration.ts'
import type { ControlAction } from '../../observer.ts'
import type { SimulatorOptions } from '../../options.ts'
import { type ParsedRecording, RecordingError } from '../file.ts'
import { createRecordedSimulator } from '../header.ts'
import { paceOf, playFreely } from '../replay/free-play.ts'
import { collectExchanges } from '../timeline.ts'
import { keptHeaders } from './kept-headers.ts'
import { SILENT } from './scenario-steps.ts'

/** A step of a test. */
export type TestStep =
  | { readonly kind: 'advance'; readonly by: Micros }
  | {
      readonly kind: 'send'
      readonly number: number
      readonly method: string
      readonly path: string
      /** `null` leaves out one of the test's own. */
      readonly headers: Readonly<Record<string, string | null>>
      readonly body: string | { readonly base64: string } | undefined
      /** Whether the answer is there at once. */
      readonly isImmediate: boolean
      /** 0: no answer. */
      readonly status: number
    }
  /** The answer of an earlier request is there. */
  | { readonly kind: 'expect'; readonly number: number; readonly status: number }
  /** The client ends an earlier request. */
  | { readonly kind: 'leave'; readonly number: number }
  | { readonly kind: 'act'; readonly action: ControlAction }

/** A test that passes as long as the world does what it did. */
export interface TestPlan {
  readonly options: SimulatorOptions
  readonly steps: readonly TestStep[]
  /** The digest of the world at the end. */
  readonly digest: string
}

/** Actions that a test can do by the public interface. */
const TESTABLE: readonly string[] = [
  'command',
  'addFault',
  'removeFault',
  'addAnswer',
  'removeAnswer',
  'clearAnswers',
  'reset',
]

/**
 * Returns the plan of a test. What it expects comes from a play of the recording: its requests at their times. A
 * recording does not say when the client of a request that hangs leaves, so it leaves at the end of its world.
 *
 * @throws RecordingError for a recording that begins with a snapshot, or has an action that a test cannot do
 */
export async function planTest(recording: ParsedRecording, what: string): Promise<TestPlan> {
  const { header, lines } = recording
  if (header.snapshot !== undefined) {
    throw new RecordingError(
      `Failed to export ${what}: it begins with a snapshot, which no test can contain. Record from the start of a world.`,
    )
  }
  for (const line of lines) {
    if (!('action' in line)) continue
    const { action } = line
    const repeats = action.do === 'command' && action.repetition !== undefined
    if (!repeats && (TESTABLE.includes(action.do) || SILENT.includes(action.do))) continue
    throw new RecordingError(
      `Failed to export ${what}: line ${line.line}: a test cannot do ${repeats ? 'a command that repeats' : `'${action.do}'`}. Record without it, or replay the file.`,
    )
  }
  const { answers, digest } = await playFreely(recording, what)
  const { token } = createRecordedSimulator(header, what)
  const facts = collectExchanges(lines)
  const open = new Map<number, { readonly endedAt: Micros; readonly status: number }>()
  const hanging = new Set<number>()
  const steps: TestStep[] = []
  const leaveHanging = () => {
    for (const number of hanging) steps.push({ kind: 'leave', number }, { kind: 'expect', number, status: 0 })
    hanging.clear()
  }
  let now = header.at[0]
  const moveTo = (time: Micros) => {
    if (time <= now) return
    steps.push({ kind: 'advance', by: time - now })
    now = time
    for (const [number, { endedAt, status }] of open) {
      if (endedAt > now) continue
      steps.push({ kind: 'expect', number, status })
      open.delete(number)
    }
  }
  for (const line of lines) {
    moveTo(line.at[0])
    if ('request' in line && !line.look) {
      const number = line.request
      const { status, endedAt, wire } = answers.get(number)!
      const isImmediate = endedAt === now
      if (wire === 'hang') hanging.add(number)
      if (endedAt !== undefined && !isImmediate) open.set(number, { endedAt, status })
      const { body } = facts.get(number)!
      steps.push({
        ...{ kind: 'send', number, method: line.method, path: line.path, isImmediate, status },
        headers: keptHeaders(line, { token, isJson: false }),
        body: typeof body === 'string' || (body && 'base64' in body) ? body : undefined,
      })
    } else if (('end' in line && line.state === 'left') || ('answer' in line && line.status === 0)) {
      const number = 'end' in line ? line.end : line.answer
      // The fault has ended the work for a request that hangs.
      if (hanging.has(number) || (!open.has(number) && answers.get(number)?.endedAt !== undefined)) continue
      open.delete(number)
      steps.push({ kind: 'leave', number })
    } else if ('action' in line && !SILENT.includes(line.action.do)) {
      if (line.action.do === 'reset') leaveHanging()
      steps.push({ kind: 'act', action: line.action })
      if (line.action.do !== 'reset') continue
      // Time begins again, and requests of the world before have ended with it.
      now = 0
      for (const [number, { status }] of open) steps.push({ kind: 'expect', number, status })
      open.clear()
    }
  }
  leaveHanging()
  return { options: { ...header.options, inferencePace: paceOf(recording) }, steps, digest }
}
