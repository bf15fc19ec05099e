/** Light or dark: as the system has it, or as the person chose for this browser. */
import { signal } from '@preact/signals'

const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'modelhost-sim theme'

export class ThemeChoice {
  readonly current = signal<Theme>(readTheme())

  /** Applies the theme to the page now and whenever it changes. */
  apply(): void {
    this.current.subscribe(theme => {
      const { dataset } = document.documentElement
      if (theme === 'system') delete dataset.theme
      else dataset.theme = theme
      try {
        localStorage.setItem(KEY, theme)
      } catch {
        // A page from a file may have no storage. The choice then lasts as long as the page.
      }
    })
  }

  /** Goes on to the next theme. */
  next(): void {
    this.current.value = THEMES[(THEMES.indexOf(this.current.value) + 1) % THEMES.length]!
  }
}

function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY) as Theme
    return THEMES.includes(stored) ? stored : 'system'
  } catch {
    return 'system'
  }
}
