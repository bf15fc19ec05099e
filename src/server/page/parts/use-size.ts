import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

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
