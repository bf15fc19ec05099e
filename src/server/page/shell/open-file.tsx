import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { FileLabel } from '../parts/file-label.tsx'
import { OPEN_WORDS, openFile } from '../store/open-file.ts'
import { useSession } from '../store/session.ts'

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
    <FileLabel class="button quiet open-file" label={OPEN_WORDS} accept=".ndjson,.html,.json,.jsonl" open={open}>
      ⤒ <span class="wide-only">{isBusy.value ? 'Opening …' : 'Open'}</span>
    </FileLabel>
  )
}
