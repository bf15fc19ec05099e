import type { Signal } from '@preact/signals'

interface TextFieldProps {
  readonly label: string
  readonly placeholder?: string
  readonly size?: number
  /** What is typed, without spaces around it. */
  readonly value: Signal<string>
}

/** A field for a short text, with its label before it. */
export function TextField({ label, value, ...rest }: TextFieldProps) {
  return (
    <label>
      {label}{' '}
      <input
        {...rest}
        value={value.value}
        onInput={event => {
          value.value = event.currentTarget.value.trim()
        }}
      />
    </label>
  )
}
