import type { Signal } from '@preact/signals'
import { formatTime, plural } from '../../parts/format.ts'
import { Table } from '../../parts/lists/table.tsx'
import { Panel } from '../../parts/panel.tsx'
import { ThingLink } from '../../parts/thing-link.tsx'
import type { AnswersByRoute } from '../../store/ask.ts'
import { useAnswer } from '../../store/use-answer.ts'

/** How many differences are listed. */
const MAX_SHOWN = 200

type Difference = AnswersByRoute['GET /_sim/differences']['differences'][number]

/** What the shown world is compared with: another world, one of its snapshots, or its own start. */
export type Other = { readonly with: string } | { readonly snapshot: string } | { readonly fresh: 'true' }

interface CompareButtonProps {
  /** Default: Compare. */
  readonly label?: string
  readonly other: Other
  readonly compared: Signal<Other | undefined>
}

/** Compares the shown world with something, or ends that. */
export function CompareButton({ label = 'Compare', other, compared }: CompareButtonProps) {
  const isCompared = JSON.stringify(compared.value) === JSON.stringify(other)
  return (
    <button
      type="button"
      class="small"
      aria-pressed={isCompared}
      onClick={() => {
        compared.value = isCompared ? undefined : other
      }}
    >
      {label}
    </button>
  )
}

interface DifferencesProps {
  /** The shown world. */
  readonly world: string
  readonly other: Other
}

/** What differs between two worlds, and the entry with which they went apart. */
export function Differences({ world, other: fields }: DifferencesProps) {
  const other = 'fresh' in fields ? 'the start' : (Object.values(fields)[0] as string)
  const { value, error } = useAnswer('GET /_sim/differences', fields, { world, refresh: 'requests' })
  const isRequest = ({ kind }: Difference) => kind === 'request'
  const found = value?.differences.filter(each => !isRequest(each)) ?? []
  const requests = value?.differences.filter(isRequest) ?? []
  const tableOf = (list: readonly Difference[]) => (
    <Table
      titles={['Kind', 'What', other, world]}
      rows={list.slice(0, MAX_SHOWN).map(({ kind, subject, before, after }) => ({
        key: `${kind} ${subject}`,
        cells: [kind, kind === 'state' ? <ThingLink key={subject} id={subject} /> : subject, before, after],
      }))}
    />
  )
  return (
    <Panel
      title={`${other} → ${world}`}
      label={`Differences between ${other} and ${world}`}
      route="GET /_sim/differences"
      fields={fields}
      name="Differences"
      error={error}
    >
      {value?.equal && value.diverged === null && <p>✓ The two worlds are equal.</p>}
      {value !== undefined && !value.same_time && <p class="warn">! The worlds are at different times.</p>}
      {value?.diverged && (
        <p>
          They diverged at <time dateTime={value.diverged.at}>{formatTime(value.diverged.at)}</time>.{' '}
          <span class="faint">In {other}:</span> {value.diverged.before?.sentence ?? 'Nothing happened.'}{' '}
          <span class="faint">In {world}:</span> {value.diverged.after?.sentence ?? 'Nothing happened.'}
        </p>
      )}
      {found.length > 0 && tableOf(found)}
      {found.length > MAX_SHOWN && (
        <p class="faint">The JSON of this table has {plural(found.length - MAX_SHOWN, 'further difference')}.</p>
      )}
      {value?.requests_compared === false && <p class="faint">Requests are not compared.</p>}
      {requests.length > 0 && (
        <details>
          <summary>Their clients sent different requests: {requests.length}</summary>
          {tableOf(requests)}
        </details>
      )}
    </Panel>
  )
}
