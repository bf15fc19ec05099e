/** The code of a saved page: runs its worlds again, then opens the control room. */

import './without-eval.ts'
import { loadTokenizer } from '../../service/openai/tokenizer.ts'
import { parseRecording } from '../../simulator/history/file.ts'
import { createRecordedSimulator } from '../../simulator/history/header.ts'
import { type Divergence, performLines } from '../../simulator/history/replay/perform-lines.ts'
import { openPage } from '../page/main.tsx'
import { connectInPage, type PageConnection, type PageConnectionOptions, refuseWebhook } from './connect.ts'
import { decodeContent, type SavedContent, type SavedWorld } from './content.ts'
import { ELEMENTS, type PageParts, TOKENIZER_KEY } from './parts.ts'
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

/** Writes a page with the parts of this one. */
function writePage(content: SavedContent): string {
  return savedPage(readOwnParts(), content)
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

/** How a world that was run again differs from its recording. */
export interface WorldProblem {
  /** The title of the world. */
  readonly world: string
  /** The first difference; undefined if the recording is cut off. */
  readonly divergence: Divergence | undefined
  readonly cut: string | undefined
}

interface WorldsRunAgain {
  readonly connection: PageConnection
  readonly problems: readonly WorldProblem[]
}

/**
 * Creates the worlds of recordings and performs them up to their ends. The first is the default world.
 *
 * @param onProgress called after each line with the performed lines and their number
 * @throws RecordingError for a text that is not a recording of this version
 */
export async function runAgain(
  worlds: readonly SavedWorld[],
  options: PageConnectionOptions,
  onProgress: (done: number, total: number) => void,
): Promise<WorldsRunAgain> {
  // Time that moves while the tokenizer is loaded would be another time.
  if (Symbol.for(TOKENIZER_KEY) in globalThis) await loadTokenizer()
  const recordings = worlds.map(({ title, recording }) => ({
    title,
    recording: parseRecording(recording, `of ${title}`),
  }))
  const total = recordings.reduce((sum, { recording }) => sum + recording.lines.length, 0)
  const [first, ...others] = recordings.map(({ title, recording }) =>
    createRecordedSimulator(recording.header, `the recording of ${title}`, {}, refuseWebhook),
  )
  const connection = connectInPage(first!, options)
  const sims = [first!, ...others]
  for (const sim of others) connection.worlds.make({ sim })
  const problems: WorldProblem[] = []
  // From the start, so that every moment of the recordings can be visited.
  for (const sim of sims) connection.pasts.keep(sim)
  let before = 0
  for (const [index, { title, recording }] of recordings.entries()) {
    const { divergence, cut } = await performLines(sims[index]!, recording, done => onProgress(before + done, total))
    before += recording.lines.length
    if (divergence !== undefined || cut !== undefined) problems.push({ world: title, divergence, cut })
  }
  return { connection, problems }
}
