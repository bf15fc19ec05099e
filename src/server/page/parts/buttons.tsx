import { useSignal } from '@preact/signals'
import type { ButtonHTMLAttributes } from 'preact'
import { setRealTimeout } from '../../../lib/real-time.ts'
import { clear } from './hooks.ts'

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
    setRealTimeout(clear(said), SAID_MS)
  }
  return <Small words={said.value ?? label} onClick={copy} aria-live="polite" />
}

/** Closes a part of the page. `what` names it: 'the inspector'. */
export function CloseButton({ what, onClick }: { what: string; onClick: () => void }) {
  return <Button words="✕" class="quiet" aria-label={`Close ${what}`} onClick={onClick} />
}

/** Saves a text as a file. */
export function saveFile(name: string, text: string, type = 'text/plain'): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

interface ButtonProps extends ButtonHTMLAttributes {
  readonly words: string
  /** What the button is about, for those who do not see it. */
  readonly of?: string
}

/** A button with words. */
export function Button({ words, of, ...attributes }: ButtonProps) {
  return (
    <button type="button" {...attributes}>
      {words}
      {of !== undefined && <span class="hidden"> {of}</span>}
    </button>
  )
}

/** A small button. */
export function Small({ class: style = '', ...attributes }: ButtonProps) {
  return <Button class={`small ${style}`} {...attributes} />
}

/** A button without a box. */
export function Quiet({ children, ...attributes }: ButtonHTMLAttributes) {
  return (
    <button type="button" class="quiet" {...attributes}>
      {children}
    </button>
  )
}

interface ChoiceProps<Value extends string> {
  /** What is chosen. It is read out with each option. */
  readonly label: string
  /** The title of each value. */
  readonly options: Readonly<Record<Value, string>>
  readonly value: Value
  readonly onChange: (value: Value) => void
}

/** A choice among a few words, side by side. */
export function Choice<Value extends string>({ label, options, value, onChange }: ChoiceProps<Value>) {
  return (
    <fieldset class="choice">
      <legend>{label}</legend>
      {Object.entries<string>(options).map(([option, title]) => (
        <Button key={option} words={title} aria-pressed={option === value} onClick={() => onChange(option as Value)} />
      ))}
    </fieldset>
  )
}
