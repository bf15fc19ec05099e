import { type Signal, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'

/** Returns the inner size of an element in CSS pixels, as it is now. Both are 0 before it is drawn. */
export function useSize(element: RefObject<HTMLElement | null>): { readonly width: number; readonly height: number } {
  const size = useSignal({ width: 0, height: 0 })
  useLayoutEffect(() => {
    const read = () => {
      const { clientWidth: width, clientHeight: height } = element.current!
      const { width: knownWidth, height: knownHeight } = size.peek()
      if (width !== knownWidth || height !== knownHeight) size.value = { width, height }
    }
    const observer = new ResizeObserver(read)
    observer.observe(element.current!)
    read()
    return () => observer.disconnect()
  }, [])
  return size.value
}

/** Returns whether the system is dark. Drawings read their colours again when it changes. */
export function useIsDark(): boolean {
  const isDark = useSignal(false)
  useEffect(() => {
    const media = matchMedia('(prefers-color-scheme: dark)')
    const change = () => set(isDark, media.matches)
    change()
    media.addEventListener('change', change)
    return () => media.removeEventListener('change', change)
  }, [])
  return isDark.value
}

/** Calls what a key does, while the component is shown. */
export function useKeydown(actOf: (event: KeyboardEvent) => (() => unknown) | undefined): void {
  const current = useRef(actOf)
  current.current = actOf
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const act = current.current(event)
      if (act === undefined) return
      event.preventDefault()
      act()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

/** Calls the function of a key while no field has the focus. */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  useKeydown(event => (isTyping(event) ? undefined : keys[event.key]))
}

/** Returns whether a key belongs to a field or to the browser. */
export function isTyping({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey) return true
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
}

/** Sets a signal, where an assignment cannot stand. */
export function set<Value>(signal: Signal<Value>, value: Value): void {
  signal.value = value
}

/** Returns a function that empties a signal. */
export function clear<Value>(signal: Signal<Value | undefined>): () => void {
  return () => set(signal, undefined)
}

/** Scrolls a box until a part of its content is visible: from `begin` to `end`, below `covered` pixels at its end. */
export function reveal(box: Element, begin: number, end: number, covered = 0): void {
  const visible = box.clientHeight - covered
  if (begin < box.scrollTop) box.scrollTop = begin
  else if (end > box.scrollTop + visible) box.scrollTop = end - visible
}

/** A `ref` that scrolls an element into view when it appears, because the button that made it can be far from it. */
export function intoView(element: Element | null): void {
  element?.scrollIntoView({ block: 'nearest' })
}
