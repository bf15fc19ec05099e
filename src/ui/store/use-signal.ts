import { type Signal, signal } from '@preact/signals-core'
import { useMemo } from 'preact/hooks'

/** Returns a signal that a component keeps. It is drawn again when the signal changes. */
export function useSignal<Value>(first: Value): Signal<Value> {
  return useMemo(() => signal(first), [])
}
