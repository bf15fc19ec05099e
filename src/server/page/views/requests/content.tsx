import { plural } from '../../../../lib/text/format-count.ts'
import { JsonView } from '../../parts/json-view.tsx'
import type { AnswersByRoute } from '../../store/ask.ts'

/** What the past has of a request. */
export type Kept = AnswersByRoute['GET /_sim/requests/{seq}']

interface ContentProps {
  readonly content: Pick<NonNullable<Kept['answer']>, 'headers' | 'body' | 'bytes' | 'note'>
  /** Whose headers and body they are, as in `the request`. */
  readonly of: string
}

/** Headers and body of a request or an answer. */
export function Content({ content: { headers, body, bytes, note }, of }: ContentProps) {
  return (
    <>
      <details>
        <summary>{plural(Object.keys(headers).length, 'header')}</summary>
        <JsonView value={headers} label={`Headers of ${of}`} />
      </details>
      {bytes === 0 ? <p class="faint">No body</p> : body !== null && <JsonView value={body} label={`Body of ${of}`} />}
      {bytes > 0 && (
        <p class="faint">
          {plural(bytes, 'byte')}
          {note !== null && `: ${note}`}
        </p>
      )}
    </>
  )
}
