import { useSignal } from '@preact/signals'
import { setRealTimeout } from '../../../lib/real-time.ts'

/** Real milliseconds for which a button says that it copied. */
const SAID_MS = 1_500

/** Copies a text. `text` is called when the button is pressed. */
export function CopyButton({ label, text }: { label: string; text: () => string | Promise<string> }) {
  const said = useSignal<string | undefined>(undefined)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(await text())
      said.value = 'Copied'
    } catch {
      said.value = 'Failed to copy'
    }
    setRealTimeout(() => {
      said.value = undefined
    }, SAID_MS)
  }
  return (
    <button type="button" class="small" onClick={copy} aria-live="polite">
      {said.value ?? label}
    </button>
  )
}
