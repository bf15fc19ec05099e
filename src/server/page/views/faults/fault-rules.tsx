import { useSignal } from '@preact/signals'
import { tryParseJson } from '../../../../lib/json-text.ts'
import { formatCount, plural } from '../../parts/format.ts'
import { Panel, Problem } from '../../parts/panel.tsx'
import type { FieldsByRoute } from '../../store/ask.ts'
import { bound } from '../../store/bound.ts'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { PRESETS } from './presets.ts'

type Rule = FieldsByRoute['POST /_sim/faults']

/** The fault rules of the world with their hits left, and a form that adds one. */
export function FaultRules() {
  const session = useSession()
  const { value: rules, error } = useAnswer('GET /_sim/faults', {}, { refresh: 'requests' })
  const text = useSignal(toText(PRESETS[0]!.rule))
  const problem = useSignal<string | undefined>(undefined)
  const add = async (event: Event) => {
    event.preventDefault()
    const rule = tryParseJson(text.value)
    if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) {
      problem.value = 'Failed to read the rule: it is not a JSON object. Begin with {"on": "create*", "fault": {…}}.'
      return
    }
    problem.value = undefined
    await session.act('Add a fault rule', 'POST /_sim/faults', rule as Rule)
  }
  return (
    <Panel title="Fault rules" route="GET /_sim/faults" error={error}>
      {rules?.length === 0 && <p class="empty">No fault rule changes the answers.</p>}
      <ul class="plain">
        {rules?.map(({ id, rule, matches, hits }) => (
          <li key={id} class="rule">
            <div class="line">
              <strong>{id}</strong>
              <span class="faint">
                {plural(hits, 'hit')}
                {hitsLeft(rule, hits)}, {matches === 1 ? '1 match' : `${formatCount(matches)} matches`}
              </span>
              <button
                type="button"
                class="small"
                onClick={() => session.act(`Remove ${id}`, 'DELETE /_sim/faults/{id}', { id })}
              >
                Remove <span class="hidden">{id}</span>
              </button>
            </div>
            <code class="break">{JSON.stringify(rule)}</code>
          </li>
        ))}
      </ul>
      <form class="fields" onSubmit={add}>
        <label>
          Template
          <select
            onChange={event => {
              text.value = toText(PRESETS[event.currentTarget.selectedIndex]!.rule)
            }}
          >
            {PRESETS.map(({ title }) => (
              <option key={title}>{title}</option>
            ))}
          </select>
        </label>
        <label class="whole">
          Rule in JSON
          <textarea class="mono" rows={8} {...bound(text)} />
        </label>
        <Problem text={problem.value} />
        <button type="submit" class="primary">
          Add the rule
        </button>
      </form>
    </Panel>
  )
}

function toText(rule: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(rule, undefined, 2)
}

/** A rule with `times` ends after so many hits. */
function hitsLeft({ times }: Readonly<Record<string, unknown>>, hits: number): string {
  return typeof times === 'number' ? `, ${Math.max(0, times - hits)} left` : ''
}
