import { expect, test } from 'vitest'
import { Cancellation, type CancelSignal } from '../../src/lib/cancellation.ts'

/** What a user of either sees. */
function play(signal: CancelSignal, abort: (reason: unknown) => void): unknown[] {
  const seen: unknown[] = [signal.aborted, signal.reason]
  const note = (name: string) => () => void seen.push(name, signal.aborted, signal.reason)
  const [first, removed, removedByFirst] = ['first', 'removed', 'removed by first'].map(note)
  const removing = () => signal.removeEventListener('abort', removedByFirst!)
  for (const listener of [first!, removing, first!, removed!, removedByFirst!])
    signal.addEventListener('abort', listener)
  signal.removeEventListener('abort', removed!)
  abort('why')
  abort('again')
  signal.addEventListener('abort', note('late'))
  return [...seen, signal.aborted, signal.reason]
}

test('a cancellation does what an AbortController with its signal does', () => {
  const controller = new AbortController()
  const cancellation = new Cancellation()
  const expected = play(controller.signal, reason => controller.abort(reason))
  expect(expected).toEqual([false, undefined, 'first', true, 'why', true, 'why'])
  expect(play(cancellation, reason => cancellation.abort(reason))).toEqual(expected)
})
