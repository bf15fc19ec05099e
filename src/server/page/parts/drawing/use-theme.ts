import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

/** Returns a number that changes with the theme: of the system, or as the person chose. Drawings read their colours again. */
export function useTheme(): number {
  const theme = useSignal(0)
  useEffect(() => {
    const change = () => {
      theme.value++
    }
    const media = matchMedia('(prefers-color-scheme: dark)')
    media.addEventListener('change', change)
    const attributes = new MutationObserver(change)
    attributes.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    return () => {
      attributes.disconnect()
      media.removeEventListener('change', change)
    }
  }, [])
  return theme.value
}
