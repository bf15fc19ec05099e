import { useEffect, useRef } from 'preact/hooks'

interface ListKeys {
  /** Moves the selection by so many rows. */
  readonly move: (step: number) => void
}

/** Moves through a list with `j` and `k` while no field has the focus. */
export function useListKeys(keys: ListKeys): void {
  const current = useRef(keys)
  current.current = keys
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event)) return
      if (event.key === 'j') current.current.move(1)
      else if (event.key === 'k') current.current.move(-1)
      else return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

/** Returns whether a key belongs to a field or to the browser. */
export function isTyping({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey) return true
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
}
