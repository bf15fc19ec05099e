import { useEffect, useRef } from 'preact/hooks'
import { isTyping } from '../store/is-typing.ts'

/** Calls the function of a key while no field has the focus. */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const current = useRef(keys)
  current.current = keys
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const act = isTyping(event) ? undefined : current.current[event.key]
      if (act === undefined) return
      event.preventDefault()
      act()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}
