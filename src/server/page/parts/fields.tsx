import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { parseJsonOrText } from '../../../lib/json-text.ts'
import type { AnswersByRoute } from '../store/ask.ts'
import { useSession } from '../store/session.ts'
import { useAnswer } from '../store/use-answer.ts'
import { Button } from './buttons.tsx'
import { set } from './hooks.ts'

interface TextFieldProps extends Readonly<Partial<Record<'placeholder' | 'class' | 'list', string>>> {
  readonly label: string
  readonly size?: number
  readonly required?: boolean
  /** What is typed, without spaces around it. */
  readonly value: Signal<string>
}

/** A field for a short text, with its label before it. */
export function TextField({ label, value, ...rest }: TextFieldProps) {
  return (
    <label>
      {label}{' '}
      <input
        type="text"
        {...rest}
        value={value.value}
        onInput={event => set(value, event.currentTarget.value.trim())}
      />
    </label>
  )
}

/** An event of a field with its text. */
interface Typed {
  readonly currentTarget: { readonly value: string }
}

/** Returns the attributes of a field that shows a signal, and sets it. */
export function bound(signal: Signal<string>) {
  return { value: signal.value, onInput: ({ currentTarget: { value } }: Typed) => set(signal, value) }
}

interface SelectProps {
  readonly label: ComponentChildren
  /** Class of the label. */
  readonly class?: string
  readonly value?: string
  /** The values, each with its title if that is another text. */
  readonly options: readonly (string | readonly [value: string, title: string])[]
  readonly onChange: (value: string) => void
}

/** A choice among many words, with its label before it. */
export function Select({ label, options, onChange, value, ...attributes }: SelectProps) {
  return (
    <label {...attributes}>
      {label}{' '}
      <select value={value} onChange={event => onChange(event.currentTarget.value)}>
        {options.map(option => {
          const [name, title] = typeof option === 'string' ? [option, option] : option
          return (
            <option key={name} value={name}>
              {title}
            </option>
          )
        })}
      </select>
    </label>
  )
}

/** The filter of a view, as of `requests`. It is a part of the address of the page. */
export function FilterField({ of, placeholder, hint }: { of: string; placeholder: string; hint?: string }) {
  const { place } = useSession()
  return (
    <input
      type="search"
      class="filter"
      data-filter
      aria-label={`Filter ${of}`}
      placeholder={`Filter: ${placeholder}`}
      title={hint}
      value={place.value.filter ?? ''}
      onInput={event => place.go({ filter: event.currentTarget.value }, 'replace')}
    />
  )
}

export type WorldCommand = AnswersByRoute['GET /_sim/commands'][number]

/**
 * Returns why a command would change nothing now: its failure is active, or the node is down. Undefined if it would.
 *
 * @param troubles the active failures of the world
 */
function whyIdle(
  { verb, undo }: WorldCommand,
  target: string,
  troubles: AnswersByRoute['GET /_sim/troubles'] = [],
): string | undefined {
  const isActive = troubles.some(({ undo: one }) => one?.target === target && one.verb === undo)
  if (isActive) return 'It is so already.'
  const isDown = troubles.some(({ undo: one }) => one?.verb === 'node.repair' && one.target === target)
  return isDown && verb !== 'node.repair' ? `The node ${target} is down.` : undefined
}

/** What the field of an argument has at first. Arguments without one begin empty. */
const FIRST_VALUES: Readonly<Record<string, string>> = { factor: '2', notice: '2m', xid: '79', times: '1' }

interface CommandFormProps {
  readonly command: WorldCommand
  /** Missing for a command without a target. */
  readonly target?: string | undefined
  /** `button`: a small button, with a small field for each argument. `form`: labelled fields, and a time. */
  readonly look: 'button' | 'form'
  /** Why the command would change nothing now. The button is then disabled. */
  readonly idle?: string | undefined
  /** Fields before those of the arguments. */
  readonly children?: ComponentChildren
}

/** Gives a command of the world, with its arguments: now, or after a duration. */
export function CommandForm({ command, target, look, idle, children }: CommandFormProps) {
  const session = useSession()
  const { verb } = command
  const typed = useSignal<{ verb: string; args: Readonly<Record<string, string>> }>({ verb, args: {} })
  const after = useSignal('')
  const args = typed.value.verb === verb ? typed.value.args : {}
  const textOf = (name: string) => args[name] ?? FIRST_VALUES[name] ?? ''
  const words = look === 'button' ? wordsOf(verb) : verb
  const give = (event: Event) => {
    event.preventDefault()
    // Numbers and lists are JSON. A duration such as `10m` stays text.
    const given = command.args.flatMap(name =>
      textOf(name) === '' ? [] : [[name, parseJsonOrText(textOf(name)) as string]],
    )
    void session.act([words, target].filter(Boolean).join(' '), 'POST /_sim/commands', {
      verb,
      ...(target !== undefined && { target }),
      ...(given.length > 0 && { args: Object.fromEntries(given) }),
      ...(after.value !== '' && { at: after.value }),
    })
  }
  const fieldOf = (name: string) => ({
    value: textOf(name),
    onInput: ({ currentTarget: { value } }: Typed) => set(typed, { verb, args: { ...args, [name]: value.trim() } }),
  })
  if (look === 'button') {
    return (
      <form class="command" onSubmit={give} title={idle ?? command.says}>
        <Button words={words} type="submit" class="small" disabled={idle !== undefined} />
        {command.args.map(name => (
          <input key={name} aria-label={`${words}: ${name}`} placeholder={name} size={4} {...fieldOf(name)} />
        ))}
      </form>
    )
  }
  return (
    <form class="fields" onSubmit={give}>
      {children}
      {command.args.map(name => (
        <label key={name}>
          {name}
          <input {...fieldOf(name)} />
        </label>
      ))}
      <TextField label="After (empty: now)" size={8} placeholder="10m" value={after} />
      <Button words="Give the command" type="submit" class="primary" />
    </form>
  )
}

interface CommandButtonsProps {
  readonly commands: readonly WorldCommand[]
  readonly target: string
}

/** Buttons that give commands to a target. Those that would change nothing now are disabled. */
export function CommandButtons({ commands, target }: CommandButtonsProps) {
  const { value: troubles } = useAnswer('GET /_sim/troubles', {}, { refresh: 'requests' })
  return commands.map(command => (
    <CommandForm key={command.verb} look="button" {...{ command, target, idle: whyIdle(command, target, troubles) }} />
  ))
}

/** Returns the words of a command for a button: `node.crash` is 'Crash', `disk.fill` is 'Fill disk'. */
function wordsOf(verb: string): string {
  const [object = '', action = ''] = verb.split('.')
  const words = action.replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
  if (action === 'down' || action === 'up') return `Bring ${action} ${object}`
  const what = object === 'gpu' ? ' GPU' : object === 'node' ? '' : ` ${object}`
  return words.charAt(0).toUpperCase() + words.slice(1) + what
}
