/** The keys of the page. Views add `j` and `k` themselves. */
import type { Signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { isTyping, set } from '../parts/hooks.ts'
import { forkWorld, nextEvent, togglePause, useSession } from '../store/session.ts'
import { viewsOf } from '../views/all-views.ts'

/** What the help lists. */
export const KEYS: readonly (readonly [keys: string, meaning: string])[] = [
  ['1 … 6', 'Go to a view'],
  ['/', 'Filter the list'],
  ['j k', 'Next and previous row'],
  ['Space', 'Pause or play the clock'],
  ['→', 'Go to the next event'],
  ['f', 'Fork this world and show the fork'],
  ['Ctrl K', 'Find anything by its id'],
  ['Esc', 'Close what is open'],
  ['?', 'Show or hide this help'],
]

/** What is open above the page. */
export type Overlaid = 'help' | 'finder' | 'worlds' | undefined

/** Follows the keyboard while the page is shown. */
export function useKeyboard(overlay: Signal<Overlaid>): void {
  const session = useSession()
  useEffect(() => {
    const closeNext = () => {
      if (overlay.peek() !== undefined) set(overlay, undefined)
      else if (session.notice.peek() !== undefined) set(session.notice, undefined)
      else session.place.go({ id: undefined })
    }
    const actOf = (event: KeyboardEvent): (() => unknown) | undefined => {
      if (event.key === 'k' && (event.ctrlKey || event.metaKey)) return () => set(overlay, 'finder')
      if (event.key === 'Escape') return closeNext
      if (isTyping(event)) return undefined
      const view = /^[1-6]$/.test(event.key) ? viewsOf(session)[Number(event.key) - 1] : undefined
      if (view !== undefined) return () => session.place.go({ view: view.name })
      switch (event.key) {
        case '/':
          return () => document.querySelector<HTMLElement>('[data-filter]')?.focus()
        case ' ':
          // A focused button is pressed by the space bar.
          return isWithin(event, 'button, a, summary, [data-arrow-keys]') ? undefined : () => togglePause(session)
        case 'ArrowRight':
          return isWithin(event, '[data-arrow-keys]') ? undefined : () => nextEvent(session)
        case 'f':
          return () => forkWorld(session, session.world.peek())
        case '?':
          return () => set(overlay, overlay.peek() === 'help' ? undefined : 'help')
        default:
          return undefined
      }
    }
    const onKey = (event: KeyboardEvent) => {
      const act = actOf(event)
      if (act === undefined) return
      event.preventDefault()
      act()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [session])
}

/** Returns whether the focus is in an element that uses the key itself. */
function isWithin({ target }: KeyboardEvent, selector: string): boolean {
  return target instanceof HTMLElement && target.closest(selector) !== null
}
