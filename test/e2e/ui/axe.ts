/** Checks pages for people who use a keyboard, a screen reader, or few colours: the rules of axe-core. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

/** Rules about colours. A theme changes nothing else. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/**
 * Returns the violations of a page: theme, rule, and the elements that break it. In the light theme every rule applies, and
 * in the dark theme those about colours.
 */
export async function findViolations(page: Page): Promise<string[]> {
  const found: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    // The page allows no script but its own, so axe-core comes in by the debugger.
    if (!(await page.evaluate('"axe" in window'))) await page.evaluate(readFileSync(AXE, 'utf8'))
    const options = colorScheme === 'dark' ? { runOnly: COLOUR_RULES } : {}
    const { violations } = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults
    for (const { id, nodes } of violations) {
      for (const { html, failureSummary } of nodes) found.push(`${colorScheme} ${id}: ${html} ${failureSummary}`)
    }
  }
  return found
}
