/** Everything about one thing, found by its id: beside every view. */

import type { ComponentChildren } from 'preact'
import { CopyButton } from '../parts/buttons.tsx'
import { CommandButtons } from '../parts/fields.tsx'
import { formatMicrocents, formatTime, kindWords } from '../parts/format.ts'
import { DetailsHead, Problem } from '../parts/panel.tsx'
import { DayTime, JsonView, Sentences, StatusMark, ThingLink } from '../parts/words.tsx'
import type { AnswersByRoute } from '../store/ask.ts'
import { useSession } from '../store/session.ts'
import { useAnswer } from '../store/use-answer.ts'
import { CauseTree, EntryList } from './causes.tsx'

type Thing = AnswersByRoute['GET /_sim/things/{id}']

export function Inspector({ id, close }: { id: string; close: () => void }) {
  const { value: thing, error } = useAnswer('GET /_sim/things/{id}', { id }, { refresh: 'requests' })
  const name = thing === undefined ? id : nameOf(thing)
  return (
    <aside class="inspector" aria-label={`Inspector: ${id}`}>
      <DetailsHead what="the inspector" close={close} title={name}>
        {thing !== undefined && (
          <p class="faint">
            {kindWords(thing.kind)}
            {name !== id && <span class="mono break"> {id}</span>}
          </p>
        )}
      </DetailsHead>
      <Problem text={error} />
      {thing !== undefined && (
        <>
          <Sentences of={thing.sentences} />
          {thing.cost !== null && (
            <p data-figure="cost">
              {formatMicrocents(thing.cost.burn_microcents_per_hour)} per hour now,{' '}
              {formatMicrocents(thing.cost.spent_microcents)} so far
            </p>
          )}
          <Explanation thing={thing} />
          <Commands kind={thing.kind} id={thing.id} />
          <Related thing={thing} />
          {!isPosition(thing) && <Entries thing={thing} />}
          <Rows title="Newest requests" items={thing.requests} row={request => <Request {...request} />} />
          <Rows
            title="Ledger lines"
            items={thing.ledger}
            row={({ time, kind, microcents }) => (
              <>
                <DayTime iso={time} /> {kind} {formatMicrocents(microcents)}
              </>
            )}
          />
          <Seen thing={thing} />
          <Addresses thing={thing} />
        </>
      )}
    </aside>
  )
}

/** Whether it is a position in the journal: an entry or a request. */
const isPosition = ({ kind }: Thing) => kind === 'entry' || kind === 'request'

/** What decided the state of a thing, what came of it, and what happens to it next. */
function Explanation({ thing }: { thing: Thing }) {
  // Things that the journal does not name have no explanation. What is known of them is shown anyway.
  const { value } = useAnswer('GET /_sim/explain/{subject}', { subject: thing.id }, { refresh: 'requests' })
  if (value === undefined) return isPosition(thing) ? <CauseTree seq={thing.id} /> : null
  const { chain, effects, next } = value
  return (
    <>
      {next !== undefined && (
        <p class="next">
          <strong>Next, {/^0\D/.test(next.in) ? 'now' : `in ${next.in}`}:</strong> {next.sentence}
        </p>
      )}
      {isPosition(thing) ? (
        <CauseTree seq={thing.id} />
      ) : (
        <>
          <EntryList title="Because" entries={chain} />
          <EntryList title="What came of it" entries={effects} />
        </>
      )}
    </>
  )
}

/** The commands that break or repair a thing. */
function Commands({ kind, id }: { kind: string; id: string }) {
  const { value: commands } = useAnswer('GET /_sim/commands', {}, { refresh: 'once' })
  const wanted = kind === 'gpu_type' ? 'gpuType' : kind
  const fitting = commands?.filter(({ target }) => target === wanted) ?? []
  if (fitting.length === 0) return null
  return (
    <>
      <h3>Break or repair</h3>
      <div class="toolbar">
        <CommandButtons commands={fitting} target={id} />
      </div>
    </>
  )
}

interface RowsProps<Item> {
  readonly title: string
  readonly items: readonly Item[]
  readonly row: (item: Item) => ComponentChildren
}

/** A list that opens; nothing without items. */
function Rows<Item>({ title, items, row }: RowsProps<Item>) {
  if (items.length === 0) return null
  return (
    <details>
      <summary>
        {title}: {items.length}
      </summary>
      <ol class="plain">
        {items.map((item, index) => (
          <li key={index}>{row(item)}</li>
        ))}
      </ol>
    </details>
  )
}

function Related({ thing: { related } }: { thing: Thing }) {
  if (related.length === 0) return null
  return (
    <>
      <h3>Related</h3>
      <ul class="plain">
        {related.map(({ id, kind, relation }) => (
          <li key={`${relation} ${id}`}>
            <span class="faint">{relation}</span> <ThingLink id={id} /> <span class="faint">{kind}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

function Entries({ thing: { entries } }: { thing: Thing }) {
  if (entries.length === 0) return null
  return (
    <details open={entries.length < 8}>
      <summary>Newest journal entries: {entries.length}</summary>
      <EntryList entries={entries} />
    </details>
  )
}

function Request({ seq, at, method, path, status }: Thing['requests'][number]) {
  const { place } = useSession()
  return (
    <>
      <time dateTime={at}>{formatTime(at)}</time> <StatusMark status={status} />{' '}
      <a class="mono break" href={place.link({ view: 'requests', request: String(seq) })}>
        {method} {path}
      </a>
    </>
  )
}

/** The thing as the service shows it to clients. */
function Seen({ thing: { object, path } }: { thing: Thing }) {
  if (object === null) return null
  return (
    <details>
      <summary>As clients see it{path !== null && <span class="mono faint"> {path}</span>}</summary>
      <JsonView value={object} label="The thing as clients see it" />
    </details>
  )
}

function Addresses({ thing: { id, links } }: { thing: Thing }) {
  const session = useSession()
  const all = [{ relation: 'all of this', path: `/_sim/things/${encodeURIComponent(id)}` }, ...links]
  return (
    <details>
      <summary>Addresses of these figures</summary>
      <ul class="plain">
        {all.map(({ relation, path }) => (
          <li key={relation} class="line">
            <span class="mono break">{path}</span>
            <CopyButton label="Copy as curl" text={() => session.curlOf({ method: 'GET', path })} />
          </li>
        ))}
      </ul>
    </details>
  )
}

/** Returns the name that the account gave to a thing, or its id. */
function nameOf({ id, object }: Thing): string {
  const { model_name: model, name } = (object ?? {}) as Readonly<Record<string, unknown>>
  return String(model || name || id)
}
