import { formatTime } from '../parts/format.ts'
import { NextWords } from '../parts/sentences.tsx'
import type { AnswersByRoute } from '../store/ask.ts'
import { useSession } from '../store/session.ts'
import { useAnswer } from '../store/use-answer.ts'

type Entries = AnswersByRoute['GET /_sim/explain/{subject}']['chain']

/** What decided the state of a thing, what came of it, and what happens to it next. */
export function Explanation({ id }: { id: string }) {
  // Things that the journal does not name have no explanation. What is known of them is shown all the same.
  const { value: explanation } = useAnswer('GET /_sim/explain/{subject}', { subject: id }, { refresh: 'requests' })
  if (explanation === undefined) return null
  const { chain, effects, next } = explanation
  return (
    <>
      <NextWords next={next} />
      <EntryList title="Because" entries={chain} />
      <EntryList title="What came of it" entries={effects} />
    </>
  )
}

function EntryList({ title, entries }: { title: string; entries: Entries }) {
  if (entries.length === 0) return null
  return (
    <>
      <h3>{title}</h3>
      <EntryLinks entries={entries} />
    </>
  )
}

/** Journal entries as sentences, each with a link to its causes. */
export function EntryLinks({ entries }: { entries: readonly Pick<Entries[number], 'seq' | 'at' | 'sentence'>[] }) {
  const { place } = useSession()
  return (
    <ol class="chain">
      {entries.map(({ seq, at, sentence }) => (
        <li key={seq}>
          <time dateTime={at}>{formatTime(at)}</time>{' '}
          <a href={place.link({ view: 'causes', entry: String(seq) })}>{sentence}</a>
        </li>
      ))}
    </ol>
  )
}
