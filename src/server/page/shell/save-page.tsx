/** Saves the shown world as one file that runs again when it is opened, without a server. */

import { useSignal } from '@preact/signals'
import { saveFile } from '../parts/download-button.tsx'
import { readAnswer } from '../store/ask.ts'
import { describeError, useSession } from '../store/session.ts'

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
    <button
      type="button"
      class="quiet"
      disabled={isSaving.value}
      onClick={() => void save()}
      aria-label="Save this page"
      title="One file that runs this world again"
    >
      ⤓ <span class="wide-only">{isSaving.value ? 'Saving' : 'Save'}</span>
    </button>
  )
}
