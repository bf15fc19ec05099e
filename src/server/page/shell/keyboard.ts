/** The keys of the page. Views add `j` and `k` themselves. */
import type { Signal } from '@preact/signals'
import { isTyping, set, useKeydown } from '../parts/hooks.ts'
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
  const closeNext = () => {
    if (overlay.peek() !== undefined) set(overlay, undefined)
    else if (session.notice.peek() !== undefined) set(session.notice, undefined)
    else session.place.go({ id: undefined })
  }
  const keys: Readonly<Record<string, () => unknown>> = {
    '/': () => document.querySelector<HTMLElement>('[data-filter]')?.focus(),
    ' ': () => togglePause(session),
    ArrowRight: () => nextEvent(session),
    f: () => forkWorld(session, session.world.peek()),
    '?': () => set(overlay, overlay.peek() === 'help' ? undefined : 'help'),
  }
  useKeydown(event => {
    const { key } = event
    if (key === 'k' && (event.ctrlKey || event.metaKey)) return () => set(overlay, 'finder')
    if (key === 'Escape') return closeNext
    if (isTyping(event) || isTaken(event)) return undefined
    const view = /^[1-6]$/.test(key) ? viewsOf(session)[Number(key) - 1] : undefined
    return view === undefined ? keys[key] : () => session.place.go({ view: view.name })
  })
}

/** Returns whether the focus is in an element that uses the key itself. A focused button is pressed by the space bar. */
function isTaken({ key, target }: KeyboardEvent): boolean {
  const takers = { ' ': 'button, a, summary, [data-arrow-keys]', ArrowRight: '[data-arrow-keys]' }[key]
  return takers !== undefined && target instanceof HTMLElement && target.closest(takers) !== null
}
