/** Everything about one thing, found by its id: beside every view. */
import { formatTime } from '../parts/format.ts'
import { useSession } from '../store/session.ts'
import { useAnswer } from '../store/use-answer.ts'

interface InspectorProps {
  readonly id: string
  readonly close: () => void
}

export function Inspector({ id, close }: InspectorProps) {
  const session = useSession()
  const { value: explanation, error } = useAnswer('GET /_sim/explain/{subject}', { subject: id })
  return (
    <aside class="inspector" aria-label={`Inspector: ${id}`}>
      <div class="details-head">
        <h2 class="mono break">{id}</h2>
        <button type="button" class="quiet" aria-label="Close the inspector" onClick={close}>
          ✕
        </button>
      </div>
      {error !== undefined && <p role="alert">✗ {error}</p>}
      <ul class="sentences">
        {explanation?.sentences.map(sentence => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      {explanation?.next !== undefined && (
        <p class="next">
          <strong>Next, in {explanation.next.in}:</strong> {explanation.next.sentence}
        </p>
      )}
      {explanation !== undefined && explanation.chain.length > 0 && (
        <>
          <h3>Because</h3>
          <ol class="chain">
            {explanation.chain.map(entry => (
              <li key={entry.seq}>
                <time dateTime={entry.at}>{formatTime(entry.at)}</time>{' '}
                <a href={session.place.link({ view: 'causes', entry: String(entry.seq), id })}>{entry.sentence}</a>
              </li>
            ))}
          </ol>
        </>
      )}
      {explanation !== undefined && explanation.effects.length > 0 && (
        <>
          <h3>What came of it</h3>
          <ol class="chain">
            {explanation.effects.map(entry => (
              <li key={entry.seq}>
                <time dateTime={entry.at}>{formatTime(entry.at)}</time>{' '}
                <a href={session.place.link({ view: 'causes', entry: String(entry.seq), id })}>{entry.sentence}</a>
              </li>
            ))}
          </ol>
        </>
      )}
    </aside>
  )
}
