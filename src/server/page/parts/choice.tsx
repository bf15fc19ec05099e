interface ChoiceProps<Value extends string> {
  /** What is chosen. It is read out with each option. */
  readonly label: string
  readonly options: readonly { readonly value: Value; readonly title: string; readonly hint?: string }[]
  readonly value: Value
  readonly onChange: (value: Value) => void
}

/** A choice among a few words, side by side. */
export function Choice<Value extends string>({ label, options, value, onChange }: ChoiceProps<Value>) {
  return (
    <fieldset class="choice">
      <legend>{label}</legend>
      {options.map(option => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          title={option.hint}
          onClick={() => onChange(option.value)}
        >
          {option.title}
        </button>
      ))}
    </fieldset>
  )
}
