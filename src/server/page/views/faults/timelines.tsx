import { formatDuration, plural, secondsBetween } from '../../parts/format.ts'
import { Panel } from '../../parts/panel.tsx'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { RunResult, runScenario } from './run-result.tsx'

/** The catalogue of incidents: scenarios whose commands and faults the simulator plays beside the clients. */
export function Timelines() {
  const session = useSession()
  const { value: scenarios, error } = useAnswer('GET /_sim/scenarios', {}, { refresh: 'requests' })
  const now = session.clock.value?.now
  return (
    <Panel title="Incidents" route="GET /_sim/scenarios" error={error}>
      {scenarios?.length === 0 && (
        <p class="empty">
          {session.connection.home === 'server'
            ? 'This simulator has no scenarios to play.'
            : 'A page without a server plays no scenarios. Use modelhost-sim serve.'}
        </p>
      )}
      <ul class="plain">
        {scenarios?.map(({ name, title, state, done, of, next_at: next, problems }) => (
          <li key={name} class="rule">
            <div class="line">
              <span>{title ?? name}</span>
              <span class="faint">
                {state === 'playing'
                  ? `▶ ${of === null ? plural(done, 'step') : `${done} of ${plural(of, 'step')}`}${
                      next !== null && now !== undefined ? `, next in ${formatDuration(secondsBetween(now, next))}` : ''
                    }`
                  : state === 'unplayable'
                    ? 'Run only'
                    : state}
              </span>
              {state === 'playing' ? (
                <button
                  type="button"
                  class="small"
                  onClick={() => session.act(`Stop ${name}`, 'DELETE /_sim/scenarios/{name}', { name })}
                >
                  Stop <span class="hidden">{name}</span>
                </button>
              ) : (
                <button
                  type="button"
                  class="small"
                  disabled={state === 'unplayable'}
                  onClick={() => session.act(`Start ${name}`, 'POST /_sim/scenarios/{name}/start', { name })}
                >
                  Start <span class="hidden">{name}</span>
                </button>
              )}
              <button type="button" class="small" onClick={() => runScenario(session, name)}>
                Run <span class="hidden">{name}</span>
              </button>
            </div>
            <RunResult run={session.runs.value[name]} />
            {problems.length > 0 && (
              <details class="faint">
                <summary>What is not played</summary>
                <ul>
                  {problems.map(problem => (
                    <li key={problem}>{problem}</li>
                  ))}
                </ul>
              </details>
            )}
          </li>
        ))}
      </ul>
      <p class="faint">
        Start plays commands and fault rules in this world. Run plays the whole scenario in a world of its own, and
        checks it. For scenarios in TypeScript, use <code>modelhost-sim run</code>.
      </p>
    </Panel>
  )
}
