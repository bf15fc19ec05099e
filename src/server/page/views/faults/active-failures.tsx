import { Panel } from '../../parts/panel.tsx'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'

/** What is broken now. Each failure that a command can undo has a button for it. */
export function ActiveFailures() {
  const session = useSession()
  const { value: failures, error } = useAnswer('GET /_sim/troubles', {}, { refresh: 'requests' })
  return (
    <Panel title="Broken now" route="GET /_sim/troubles" error={error}>
      {failures?.length === 0 && <p class="empty">Nothing is broken.</p>}
      <ul class="plain">
        {failures?.map(({ what, undo }) => (
          <li key={what} class="line">
            <span>
              <span class="glyph bad" aria-hidden="true">
                ✗
              </span>{' '}
              {what}
            </span>
            {undo !== undefined && (
              <button
                type="button"
                class="small"
                onClick={() => session.act(`Undo: ${what}`, 'POST /_sim/commands', undo)}
              >
                Undo <span class="hidden">{what}</span>
              </button>
            )}
          </li>
        ))}
      </ul>
      {failures !== undefined && failures.length > 1 && (
        <button type="button" onClick={() => session.act('Undo all failures', 'POST /_sim/heal')}>
          Undo all
        </button>
      )}
    </Panel>
  )
}
