/** The keys of the page. Views add `j` and `k` themselves. */
import { useEffect } from 'preact/hooks'
import { isTyping } from '../parts/hooks.ts'
import { forkWorld, useSession } from '../store/session.ts'
import { viewsOf } from '../views/all-views.ts'
import { nextEvent, togglePause } from './clock-moves.ts'

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

interface Openings {
  readonly openFinder: () => void
  readonly toggleHelp: () => void
  readonly closeAll: () => void
}

/** Follows the keyboard while the page is shown. */
export function useKeyboard({ openFinder, toggleHelp, closeAll }: Openings): void {
  const session = useSession()
  useEffect(() => {
    const act = (event: KeyboardEvent): boolean => {
      if (event.key === 'k' && (event.ctrlKey || event.metaKey)) return done(openFinder)
      if (event.key === 'Escape') return done(closeAll)
      if (isTyping(event)) return false
      if (/^[1-6]$/.test(event.key)) {
        const view = viewsOf(session)[Number(event.key) - 1]
        return view !== undefined && done(() => session.place.go({ view: view.name }))
      }
      switch (event.key) {
        case '/':
          return done(() => document.querySelector<HTMLElement>('[data-filter]')?.focus())
        case ' ':
          // A focused button is pressed by the space bar.
          return !isWithin(event, 'button, a, summary, [data-arrow-keys]') && done(() => void togglePause(session))
        case 'ArrowRight':
          return !isWithin(event, '[data-arrow-keys]') && done(() => void nextEvent(session))
        case 'f':
          return done(() => void forkWorld(session, session.world.peek()))
        case '?':
          return done(toggleHelp)
        default:
          return false
      }
    }
    const onKey = (event: KeyboardEvent) => {
      if (act(event)) event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [session])
}

function done(act: () => void): true {
  act()
  return true
}

/** Returns whether the focus is in an element that uses the key itself. */
function isWithin({ target }: KeyboardEvent, selector: string): boolean {
  return target instanceof HTMLElement && target.closest(selector) !== null
}
