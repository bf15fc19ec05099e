import { useSignal } from '@preact/signals'
import type { AnswersByRoute } from '../simulator/ask.ts'
import { useSession } from '../store/session.ts'

export type WorldCommand = AnswersByRoute['GET /_sim/commands'][number]

/** What the field of an argument has at first. Arguments without one begin empty. */
const FIRST_VALUES: Readonly<Record<string, string>> = { factor: '2', notice: '2m', xid: '79', times: '1' }

interface CommandButtonProps {
  readonly command: WorldCommand
  readonly target: string
  /** Default: the words of the command. */
  readonly title?: string
  readonly class?: string
}

/** A button that gives a command of the world. One with arguments has a field for each. */
export function CommandButton({ command, target, title, class: style = '' }: CommandButtonProps) {
  const session = useSession()
  const args = useSignal<Readonly<Record<string, string>>>(
    Object.fromEntries(command.args.map(name => [name, FIRST_VALUES[name] ?? ''])),
  )
  const words = title ?? wordsOf(command.verb)
  const give = (event: Event) => {
    event.preventDefault()
    const given = Object.entries(args.value).filter(([, value]) => value !== '')
    void session.act(`${words} ${target}`, 'POST /_sim/commands', {
      verb: command.verb,
      target,
      ...(given.length > 0 && { args: Object.fromEntries(given.map(([name, value]) => [name, toArgument(value)])) }),
    })
  }
  return (
    <form class="command" onSubmit={give} title={command.says}>
      <button type="submit" class={`small ${style}`}>
        {words}
      </button>
      {command.args.map(name => (
        <input
          key={name}
          aria-label={`${words}: ${name}`}
          placeholder={name}
          size={4}
          value={args.value[name]}
          onInput={event => {
            args.value = { ...args.value, [name]: event.currentTarget.value }
          }}
        />
      ))}
    </form>
  )
}

/** Returns the words of a command for a button: `node.crash` is 'Crash', `disk.fill` is 'Fill disk'. */
export function wordsOf(verb: string): string {
  const [object = '', action = ''] = verb.split('.')
  const words = action.replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
  if (action === 'down' || action === 'up') return `Bring ${action} ${object}`
  const what = object === 'gpu' ? ' GPU' : object === 'node' ? '' : ` ${object}`
  return words.charAt(0).toUpperCase() + words.slice(1) + what
}

function toArgument(text: string): string | number | null {
  if (text === 'null') return null
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}
