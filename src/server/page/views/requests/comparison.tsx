import { plural } from '../../../../lib/text/format-count.ts'
import { formatTime } from '../../parts/format.ts'
import { intoView } from '../../parts/into-view.ts'
import { JsonView } from '../../parts/json-view.tsx'
import { Table } from '../../parts/lists/table.tsx'
import { StatusMark } from '../../parts/status-mark.tsx'
import type { AnswersByRoute } from '../../store/ask.ts'
import type { Kept } from './content.tsx'
import { compareAnswers } from './differences.ts'

/** How many differences are listed. */
const MAX_SHOWN = 40

interface ComparisonProps {
  /** The status that the client got then. */
  readonly status: number
  /** The original answer, if the past has it. */
  readonly then: Kept['answer']
  readonly world: string
  readonly answer: AnswersByRoute['POST /_sim/requests']
}

/** The original answer and the new one side by side: the statuses, and what differs. */
export function Comparison({ status, then, world, answer }: ComparisonProps) {
  // The date of an answer is that of its clock, and says nothing about the answer.
  const differences =
    then === null ? undefined : compareAnswers(then, answer).filter(({ part }) => part !== 'header date')
  return (
    <div ref={intoView} class="answers">
      <Table
        titles={['Part', 'Then', `${world}, ${formatTime(answer.now)}`]}
        rows={[
          {
            key: 'status',
            cells: [
              'status',
              <StatusMark key="then" status={status} />,
              <StatusMark key="now" status={answer.status} />,
            ],
          },
          ...(differences ?? [])
            .filter(({ part }) => part !== 'status')
            .slice(0, MAX_SHOWN)
            .map(({ part, before, after }) => ({ key: part, cells: [part, before ?? '–', after ?? '–'] })),
        ]}
      />
      <p role="status">
        {differences === undefined
          ? 'The original answer is missing: only the statuses are compared.'
          : differences.length === 0
            ? '✓ The answers are equal: status, headers (without the date) and body.'
            : `! ${plural(differences.length, 'part')} of the answer differ${differences.length === 1 ? 's' : ''}.`}
      </p>
      {answer.body !== null && <JsonView value={answer.body} label="Body of the new answer" />}
      {answer.note !== null && <p class="faint">{answer.note}</p>}
    </div>
  )
}
