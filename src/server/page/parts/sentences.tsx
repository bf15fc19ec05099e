import type { AnswersByRoute } from '../store/ask.ts'

type Explanation = AnswersByRoute['GET /_sim/explain/{subject}']

/** Sentences about a thing, one a line. */
export function Sentences({ of }: { of: readonly string[] | undefined }) {
  return (
    <ul class="sentences">
      {of?.map(sentence => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  )
}

/** What happens next to a thing, if anything is planned. */
export function NextWords({ next }: { next: Explanation['next'] }) {
  return next === undefined ? null : (
    <p class="next">
      <strong>Next, {/^0\D/.test(next.in) ? 'now' : `in ${next.in}`}:</strong> {next.sentence}
    </p>
  )
}
