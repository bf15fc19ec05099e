import { useSignal } from '@preact/signals'
import { CommandForm } from '../../parts/command-form.tsx'
import { Panel } from '../../parts/panel.tsx'
import { useAnswer } from '../../store/use-answer.ts'
import { useTargets } from './targets.ts'

/** Breaks or repairs something by a command: now, or after a duration. */
export function GiveCommand() {
  const { value: commands, error } = useAnswer('GET /_sim/commands', {}, { refresh: 'once' })
  const verb = useSignal('node.crash')
  const target = useSignal('')
  const command = commands?.find(each => each.verb === verb.value)
  const targets = useTargets(command?.target)
  const needsTarget = command !== undefined && command.target !== 'none'
  return (
    <Panel title="Break or repair" route="GET /_sim/commands" name="Commands" error={error}>
      {command !== undefined && (
        <CommandForm look="form" command={command} target={needsTarget ? target.value : undefined} class="primary">
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
        </CommandForm>
      )}
      {command !== undefined && (
        <p class="faint">
          {command.verb}: {command.says}.{command.undo !== null && ` ${command.undo} undoes it.`}
        </p>
      )}
    </Panel>
  )
}
