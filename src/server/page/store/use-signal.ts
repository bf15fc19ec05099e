import { useMemo } from 'preact/hooks'
import { type Signal, signal } from './signals.ts'

/** Returns a signal that a component keeps. It is drawn again when the signal changes. */
export function useSignal<Value>(first: Value): Signal<Value> {
  return useMemo(() => signal(first), [])
}
