import { useEffect } from 'preact/hooks'
import { FileLabel } from '../parts/file-label.tsx'
import { DEFAULT_WORLD, describeError, type Session, useSession } from '../store/session.ts'
import { useSignal } from '../store/use-signal.ts'
import { readReports } from '../views/explore/report.ts'
import { recordingsOfPage } from './saved-recordings.ts'

/** Opens a recording, a saved page or a report of explore: one that is chosen, or dropped anywhere on the page. */
export function OpenFile() {
  const session = useSession()
  const isBusy = useSignal(false)
  const open = async (file: File | undefined) => {
    if (file === undefined || isBusy.peek()) return
    isBusy.value = true
    await openFile(session, await file.text(), file.name)
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
    <FileLabel
      class="button quiet open-file"
      label="Open a recording, a saved page or a report of explore"
      accept=".ndjson,.html,.json,.jsonl"
      open={open}
    >
      ⤒ <span class="wide-only">{isBusy.value ? 'Opening …' : 'Open'}</span>
    </FileLabel>
  )
}

/** Shows what a file contains: each recording as a world, and a report in the view of explore. */
async function openFile(session: Session, text: string, name: string): Promise<void> {
  try {
    if (/^\s*\{"flow":/.test(text)) {
      session.explored.value = readReports(text)
      session.place.go({ view: 'explore' })
      return
    }
    const isPage = /^\s*<!doctype html/i.test(text)
    const recordings = isPage ? await recordingsOfPage(text) : [text]
    for (const recording of recordings) await openRecording(session, recording, name)
  } catch (error) {
    session.notice.value = {
      kind: 'failed',
      text: error instanceof TypeError ? describeError(error) : (error as Error).message,
    }
  }
}

async function openRecording(session: Session, recording: string, name: string): Promise<void> {
  const opened = await session.ask('POST /_sim/recordings', { recording }, { world: DEFAULT_WORLD })
  session.place.go({ world: opened.world, origin: undefined })
  session.notice.value =
    opened.problem === null
      ? { kind: 'done', text: `${name} ran again as the world ${opened.world}` }
      : { kind: 'failed', text: `${name} does not run again as it was recorded: ${opened.problem}` }
}
