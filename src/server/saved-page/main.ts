/** The code of a saved page: runs its worlds again, then opens the control room. */

import './without-eval.ts'
import { inSlices } from '../../lib/slices.ts'
import { openPage } from '../page/main.tsx'
import { decodeContent, type SavedContent } from './content.ts'
import { ELEMENTS, type PageParts } from './parts.ts'
import { runAgain, type WorldProblem } from './run-again.ts'
import { savedPage } from './saved-page.ts'

open().catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error)
  showMessage(message.startsWith('Failed') ? message : `Failed to run this page again: ${message}. Save it again.`)
})

async function open(): Promise<void> {
  const content = decodeContent(textOf(ELEMENTS.content))
  const root = document.getElementById(ELEMENTS.root)!
  const progress = document.createElement('progress')
  const status = root.querySelector('[role=status]')!
  status.textContent = 'The worlds of this page run again.'
  status.after(progress)
  const writePage = (changed: SavedContent) => inSlices(savedPage(readOwnParts(), changed))
  const { connection, problems } = await runAgain(content.worlds, { home: 'file', writePage }, (done, total) => {
    progress.max = total
    progress.value = done
  })
  // For the console of the browser: await simulator.send('/_sim/digest').
  Object.assign(globalThis, { simulator: connection })
  root.replaceChildren()
  if (problems.length > 0) root.before(toAlert(problems.map(describeProblem).join('\n')))
  openPage(root, connection, content.start, content.explored)
}

function showMessage(text: string): void {
  document.querySelector(`#${ELEMENTS.root} [role=status]`)?.replaceWith(toAlert(text))
}

function toAlert(text: string): HTMLElement {
  const alert = document.createElement('p')
  alert.setAttribute('role', 'alert')
  alert.className = 'saved-page-alert'
  alert.textContent = text
  return alert
}

function describeProblem({ world, divergence, cut }: WorldProblem): string {
  if (divergence === undefined) return `${world}: ${cut}. The page shows the world up to there.`
  const { line, at, subject, recorded, replayed } = divergence
  return (
    `${world} differs from its recording at ${at} (line ${line}): ${subject}. Recorded: ${recorded}. Here: ${replayed}. ` +
    'The page shows the world up to there.'
  )
}

/** Returns the parts of this page. */
function readOwnParts(): PageParts {
  const { loader, style, ...scripts } = JSON.parse(textOf(ELEMENTS.parts)) as PageParts
  return {
    ...scripts,
    loader: { ...loader, text: textOf(ELEMENTS.loader) },
    style: { ...style, text: textOf(ELEMENTS.style) },
  }
}

/** Returns the text of an element. Throws an error if the file was changed. */
function textOf(id: string): string {
  const text = document.getElementById(id)?.textContent
  if (typeof text === 'string') return text
  throw new Error(`Failed to read this page: the part ${id} is missing. Save the page again.`)
}
