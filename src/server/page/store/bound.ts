import type { Signal } from '@preact/signals'

/** Returns the attributes of a field that shows a signal, and sets it. */
export function bound(signal: Signal<string>) {
  return {
    value: signal.value,
    onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) => {
      signal.value = currentTarget.value
    },
  }
}
