import { useSignal } from '@preact/signals'
import { parseJsonOrText } from '../../../lib/json-text.ts'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { useTargets } from './targets.ts'

/** Breaks or repairs something by a command: now, or after a duration. */
export function GiveCommand() {
  const session = useSession()
  const { value: commands, error } = useAnswer('GET /_sim/commands', {}, { refresh: 'once' })
  const verb = useSignal('node.crash')
  const target = useSignal('')
  const after = useSignal('')
  const args = useSignal<Readonly<Record<string, string>>>({})
  const command = commands?.find(each => each.verb === verb.value)
  const targets = useTargets(command?.target)
  const needsTarget = command !== undefined && command.target !== 'none'
  const give = async (event: Event) => {
    event.preventDefault()
    const given = Object.entries(args.value).filter(([name, text]) => text !== '' && command?.args.includes(name))
    await session.act(`${verb.value} ${target.value}`.trim(), 'POST /_sim/commands', {
      verb: verb.value,
      ...(needsTarget && { target: target.value }),
      ...(given.length > 0 && { args: Object.fromEntries(given.map(([name, text]) => [name, toArgument(text)])) }),
      ...(after.value !== '' && { at: after.value }),
    })
  }
  return (
    <section class="panel" aria-label="Break or repair">
      <h2>Break or repair</h2>
      {error !== undefined && <p role="alert">✗ {error}</p>}
      <form class="fields" onSubmit={give}>
        <label>
          Command
          <select
            value={verb.value}
            onChange={event => {
              verb.value = event.currentTarget.value
              target.value = ''
            }}
          >
            {commands?.map(({ verb: name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {needsTarget && (
          <label>
            Target ({command.target})
            <input
              class="mono"
              list="command-targets"
              required
              value={target.value}
              onInput={event => {
                target.value = event.currentTarget.value.trim()
              }}
            />
            <datalist id="command-targets">
              {targets.map(name => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </label>
        )}
        {command?.args.map(name => (
          <label key={name}>
            {name}
            <input
              value={args.value[name] ?? ''}
              onInput={event => {
                args.value = { ...args.value, [name]: event.currentTarget.value.trim() }
              }}
            />
          </label>
        ))}
        <label>
          After (empty: now)
          <input
            placeholder="10m"
            size={8}
            value={after.value}
            onInput={event => {
              after.value = event.currentTarget.value.trim()
            }}
          />
        </label>
        <button type="submit" class="primary">
          Give the command
        </button>
      </form>
      {command !== undefined && (
        <p class="faint">
          {command.verb}: {command.says}.{command.undo !== null && ` ${command.undo} undoes it.`}
        </p>
      )}
    </section>
  )
}

/** Returns a number, a list or a text. A duration such as `10m` stays text. */
function toArgument(text: string): string | number | boolean | null | string[] {
  return parseJsonOrText(text) as string | number
}
