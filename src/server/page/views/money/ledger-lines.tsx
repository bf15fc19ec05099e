import { Address } from '../../parts/address.tsx'
import { formatDay, formatMicrocents, formatTime, plural } from '../../parts/format.ts'
import { WindowedList } from '../../parts/lists/windowed-list.tsx'
import { Problem } from '../../parts/panel.tsx'
import { ThingLink } from '../../parts/thing-link.tsx'
import type { AnswersByRoute } from '../../store/ask.ts'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'

const ROW = 28
const VISIBLE_ROWS = 12
/** The ledger is long, and is asked for as a whole. */
const PAUSE_MS = 3_000

type LedgerEntry = AnswersByRoute['GET /_sim/ledger']['entries'][number]

interface LedgerLinesProps {
  /** The owner whose lines are shown; undefined: all. */
  readonly subject: string | undefined
  readonly isOpen: boolean
  readonly onOpen: (isOpen: boolean) => void
}

/** The lines of the ledger, the newest first, each with the journal entry of its time. */
export function LedgerLines({ subject, isOpen, onOpen }: LedgerLinesProps) {
  const fields = subject === undefined ? {} : { subject }
  const { value: ledger, error } = useAnswer('GET /_sim/ledger', isOpen ? fields : undefined, { pauseMs: PAUSE_MS })
  const lines = ledger?.entries.toReversed() ?? []
  return (
    <section class="panel" aria-label="Ledger">
      <div class="toolbar ledger-head">
        <h2>
          <button type="button" class="link-button" aria-expanded={isOpen} onClick={() => onOpen(!isOpen)}>
            {isOpen ? '▾' : '▸'} Ledger
          </button>
        </h2>
        {ledger !== undefined && <span class="faint">{plural(lines.length, 'line')}, the newest first</span>}
        <span class="space" />
        {isOpen && <Address route="GET /_sim/ledger" fields={fields} name="Ledger" />}
      </div>
      <Problem text={error} />
      {isOpen && ledger !== undefined && lines.length === 0 && <p class="empty">Nothing was charged yet.</p>}
      {lines.length > 0 && (
        <div style={{ height: `${Math.min(lines.length, VISIBLE_ROWS) * ROW}px` }}>
          <WindowedList
            items={lines}
            rowHeight={ROW}
            label={`Ledger, ${plural(lines.length, 'line')}`}
            row={(entry, index) => <Line key={lines.length - index} entry={entry} />}
          />
        </div>
      )}
    </section>
  )
}

function Line({ entry }: { entry: LedgerEntry }) {
  const { place, feed } = useSession()
  const { time, kind, subject, microcents, tokens, units, open } = entry
  const cause = findEntry(feed.entries, entry)
  const amount = tokens === undefined ? (units === undefined ? '' : plural(units, 'unit')) : plural(tokens, 'token')
  return (
    <div class="ledger-row">
      <time dateTime={time} class="faint">
        {formatDay(time).slice(5)} {formatTime(time)}
      </time>
      <span>{open ? `${kind}, open` : kind}</span>
      <span>
        <ThingLink id={subject} />
      </span>
      <span class="faint">{amount}</span>
      <span class={`number${microcents > 0 ? ' ok' : ''}`}>
        {microcents > 0 && '+'}
        {formatMicrocents(microcents)}
      </span>
      <span>
        {cause !== undefined && (
          <a href={place.link({ ...place.value, id: String(cause.seq) })}>
            {cause.kind}
            <span class="hidden"> at {time}</span>
          </a>
        )}
      </span>
    </div>
  )
}

interface JournalEntry {
  readonly seq: number
  readonly at: string
  readonly kind: string
  readonly subject: string
}

/** Returns the journal entry of the time of a ledger line, that of its owner first. Entries are in the order of time. */
function findEntry(entries: readonly JournalEntry[], { time, subject }: LedgerEntry): JournalEntry | undefined {
  let [low, high] = [0, entries.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (entries[middle]!.at < time) low = middle + 1
    else high = middle
  }
  let found: JournalEntry | undefined
  for (let index = low; entries[index]?.at === time; index++) {
    const entry = entries[index]!
    if (entry.subject === subject || entry.subject.startsWith(`${subject}-`)) return entry
    found ??= entry
  }
  return found
}
