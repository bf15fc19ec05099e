import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { tryParseJson } from '../../../lib/json-text.ts'
import { Quiet, saveFile } from '../parts/buttons.tsx'
import { readAnswer } from '../store/ask.ts'
import { isReport } from '../store/report.ts'
import { DEFAULT_WORLD, describeError, type Session, useSession } from '../store/session.ts'

/** Opens a recording, a saved page or a report of explore: one that is chosen, or dropped anywhere on the page. */
export function OpenFile() {
  const session = useSession()
  const isBusy = useSignal(false)
  const open = async (file: File | undefined) => {
    if (file === undefined || isBusy.peek()) return
    isBusy.value = true
    await openFile(session, file)
    isBusy.value = false
  }
  useEffect(() => {
    const onDragOver = (event: DragEvent) => event.preventDefault()
    const onDrop = (event: DragEvent) => {
      event.preventDefault()
      void open(event.dataTransfer?.files[0])
    }
    addEventListener('dragover', onDragOver)
    addEventListener('drop', onDrop)
    return () => {
      removeEventListener('dragover', onDragOver)
      removeEventListener('drop', onDrop)
    }
  }, [session])
  return (
    <label class="button quiet open-file">
      ⤒ <span class="wide-only">{isBusy.value ? 'Opening …' : 'Open'}</span>{' '}
      <input
        type="file"
        aria-label={OPEN_WORDS}
        accept=".ndjson,.html,.json,.jsonl"
        onChange={event => {
          const input = event.currentTarget
          // The same file can be chosen again after a change.
          void open(input.files![0]).finally(() => {
            input.value = ''
          })
        }}
      />
    </label>
  )
}

export function SavePage() {
  const session = useSession()
  const isSaving = useSignal(false)
  const save = async () => {
    isSaving.value = true
    const request = { method: 'GET', path: '/_sim/page' }
    try {
      const response = await session.send(request.path)
      if (!response.ok) await readAnswer(response)
      saveFile(`${session.world.value}.html`, await response.text(), 'text/html')
      session.notice.value = {
        kind: 'done',
        text: 'Saved this world as a page. It contains prompts and tokens.',
        request,
      }
    } catch (error) {
      session.notice.value = { kind: 'failed', text: describeError(error), request }
    } finally {
      isSaving.value = false
    }
  }
  return (
    <Quiet
      disabled={isSaving.value}
      onClick={() => void save()}
      aria-label="Save this page"
      title="One file that runs this world again"
    >
      ⤓ <span class="wide-only">{isSaving.value ? 'Saving' : 'Save'}</span>
    </Quiet>
  )
}

/** What the page opens. */
const OPEN_WORDS = 'Open a recording, a saved page or a report of explore'

/** Shows what a file contains: each recording as a world, and reports in the view of explore. */
async function openFile(session: Session, file: File): Promise<void> {
  const { name } = file
  try {
    const text = await file.text()
    const lines = readLines(text)
    if (lines.length > 0 && lines.every(isReport)) {
      session.explored.value = lines
      session.place.go({ view: 'report' })
    } else {
      for (const recording of await recordingsIn(text, lines[0], name)) await openRecording(session, recording, name)
    }
  } catch (error) {
    session.notice.value = {
      kind: 'failed',
      text: error instanceof TypeError ? describeError(error) : (error as Error).message,
    }
  }
}

/** Returns the values of a file: one of each line, or the one of all lines together. A list of values counts as several. */
export function readLines(text: string): readonly unknown[] {
  const whole = tryParseJson(text)
  if (whole !== undefined) return [whole].flat()
  return text.split('\n').flatMap(line => (line.trim() === '' ? [] : [tryParseJson(line)]))
}

/** Returns the recordings in a file. `first` is the value of its first line. */
async function recordingsIn(text: string, first: unknown, name: string): Promise<readonly string[]> {
  if (/^\s*<!doctype html/i.test(text)) return recordingsOfPage(text)
  if ((first as { recording?: unknown } | null | undefined)?.recording !== undefined) return [text]
  throw new Error(`Failed to open ${name}: its content is of an unknown kind. ${OPEN_WORDS}.`)
}

async function openRecording(session: Session, recording: string, name: string): Promise<void> {
  const opened = await session.ask('POST /_sim/recordings', { recording }, { world: DEFAULT_WORLD })
  session.place.go({ world: opened.world, origin: undefined })
  session.notice.value =
    opened.problem === null
      ? { kind: 'done', text: `${name} ran again as the world ${opened.world}, with the answers that it recorded` }
      : { kind: 'failed', text: `${name} does not run again as it was recorded: ${opened.problem}` }
}

/** The element of a saved page that contains its recordings. */
const CONTENT = /<script type="application\/json" id="saved-content">([^<]*)<\/script>/

/**
 * Returns the recordings of the worlds in a saved page.
 *
 * @throws Error for a page without recordings
 */
async function recordingsOfPage(html: string): Promise<readonly string[]> {
  const content = tryParseJson(CONTENT.exec(html)?.[1] ?? '') as
    | { worlds?: readonly { recording: string }[] }
    | undefined
  if (!Array.isArray(content?.worlds)) {
    throw new Error('Failed to open the page: it contains no recordings. Give a page that modelhost-sim saved.')
  }
  return Promise.all(content.worlds.map(({ recording }) => inflate(recording)))
}

/** Returns the text of a recording, which is compressed (zlib) and in Base64. */
async function inflate(base64: string): Promise<string> {
  const bytes = new Blob([Uint8Array.from(atob(base64), letter => letter.charCodeAt(0))])
  return new Response(bytes.stream().pipeThrough(new DecompressionStream('deflate'))).text()
}
