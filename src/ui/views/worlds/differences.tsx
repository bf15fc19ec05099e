import { formatTime, plural } from '../../parts/format.ts'
import { Panel } from '../../parts/panel.tsx'
import { ThingLink } from '../../parts/thing-link.tsx'
import { useAnswer } from '../../store/use-answer.ts'

/** How many differences are listed. */
const MAX_SHOWN = 200

interface DifferencesProps {
  /** The shown world. */
  readonly world: string
  readonly other: string
}

/** What differs between two worlds, and the entry with which they went apart. */
export function Differences({ world, other }: DifferencesProps) {
  const { value, error } = useAnswer('GET /_sim/differences', { with: other }, { world, refresh: 'requests' })
  return (
    <Panel
      title={`${other} → ${world}`}
      label={`Differences between ${other} and ${world}`}
      route="GET /_sim/differences"
      fields={{ with: other }}
      name="Differences"
      error={error}
    >
      {value?.equal && value.diverged === null && <p>✓ The two worlds are equal.</p>}
      {value !== undefined && !value.same_time && <p class="warn">! The worlds are at different times.</p>}
      {value?.diverged && (
        <p>
          They went apart at <time dateTime={value.diverged.at}>{formatTime(value.diverged.at)}</time>.{' '}
          <span class="faint">In {other}:</span> {value.diverged.before?.sentence ?? 'Nothing happened.'}{' '}
          <span class="faint">In {world}:</span> {value.diverged.after?.sentence ?? 'Nothing happened.'}
        </p>
      )}
      {value !== undefined && value.differences.length > 0 && (
        <div class="scroll-x">
          <table class="cards">
            <thead>
              <tr>
                <th scope="col">Kind</th>
                <th scope="col">What</th>
                <th scope="col">{other}</th>
                <th scope="col">{world}</th>
              </tr>
            </thead>
            <tbody>
              {value.differences.slice(0, MAX_SHOWN).map(({ kind, subject, before, after }) => (
                <tr key={`${kind} ${subject}`}>
                  <td>{kind}</td>
                  <td class="break">{kind === 'state' ? <ThingLink id={subject} /> : subject}</td>
                  <td data-label={other}>{before ?? '–'}</td>
                  <td data-label={world}>{after ?? '–'}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {value !== undefined && value.differences.length > MAX_SHOWN && (
        <p class="faint">
          {plural(value.differences.length - MAX_SHOWN, 'further difference')} can be read at the address of this table.
        </p>
      )}
    </Panel>
  )
}
