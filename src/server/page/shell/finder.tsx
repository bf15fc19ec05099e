import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { bound, Select } from '../parts/fields.tsx'
import { kindWords } from '../parts/format.ts'
import { set } from '../parts/hooks.ts'
import { Problem } from '../parts/panel.tsx'
import type { AnswersByRoute, FieldsByRoute } from '../store/ask.ts'
import { useSession } from '../store/session.ts'
import { useAnswer } from '../store/use-answer.ts'

/** How many suggestions are listed. */
const MAX_FOUND = 12
/** How many things have a name and a state here. */
const MAX_NAMED = 5_000

/** The kinds of which the simulator has lists. */
const LISTED_KINDS: readonly FieldsByRoute['GET /_sim/things']['kind'][] = [
  ...(['deployment', 'instance', 'batch', 'file', 'container', 'hosted', 'node', 'fault'] as const),
  ...(['token', 'ssh_key', 'model', 'voice'] as const),
]
/** The most values of a row of such a list, and the letters of each. */
const MAX_CELLS = 5
const MAX_LETTERS = 40

/** A thing that can be opened. */
interface Known {
  readonly id: string
  /** What it is, as in `deployment acme/chat, running`. */
  readonly words: string
}

/** Finds a thing by a part of its id or its name, or lists those of one kind, and opens its inspector. */
export function Finder({ close }: { close: () => void }) {
  const { feed, place } = useSession()
  const { value: lives } = useAnswer('GET /_sim/lifecycles', { limit: MAX_NAMED }, { refresh: 'once' })
  const text = useSignal('')
  const kind = useSignal('')
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.focus(), [])
  const known = useMemo(() => knownThings(feed.entries, lives?.rows ?? []), [feed.revision.value, lives])
  const wanted = text.value.trim()
  const fields = { kind: kind.value, filter: wanted } as FieldsByRoute['GET /_sim/things']
  const { value: listed, error } = useAnswer('GET /_sim/things', kind.value === '' ? undefined : fields)
  const { columns = [], rows = [], refused } = listed ?? {}
  const found =
    kind.value !== ''
      ? rows.map(({ id, cells }) => ({ id, words: wordsOfCells(columns, cells) }))
      : wanted === ''
        ? known.slice(0, MAX_FOUND)
        : findThings(known, wanted)
  const open = (id: string) => {
    close()
    place.go({ id })
  }
  return (
    <div class="overlay" role="dialog" aria-modal="true" aria-label="Find by id">
      <form
        class="overlay-box"
        onKeyDown={moveFocus}
        onSubmit={event => {
          event.preventDefault()
          // An id that the journal does not name can be known to the simulator all the same.
          const first = found.some(({ id }) => id === wanted) ? wanted : (found[0]?.id ?? wanted)
          if (first !== '') open(first)
        }}
      >
        <input
          ref={input}
          type="search"
          class="filter wide"
          aria-label="An id, a name, or the position of a journal entry"
          placeholder="Id, name or position"
          {...bound(text)}
        />
        <Select
          label="Kind"
          value={kind.value}
          options={[['', 'any'], ...LISTED_KINDS.map(name => [name, kindWords(name)] as const)]}
          onChange={chosen => set(kind, chosen)}
        />
        <Problem text={error} />
        {refused && <p class="warn">! The service refuses this list now.</p>}
        <ul class="found">
          {found.map(({ id, words }) => (
            <li key={id}>
              <button type="button" class="linklike" onClick={() => open(id)}>
                <span class="mono">{id}</span> <span class="faint">{words}</span>
              </button>
            </li>
          ))}
        </ul>
      </form>
    </div>
  )
}

/** Returns the first values of a row, for the list. The inspector has all of them. */
function wordsOfCells(columns: readonly string[], cells: readonly string[]): string {
  const filled = cells.flatMap((cell, column) =>
    cell === '' ? [] : `${columns[column]} ${cell.slice(0, MAX_LETTERS)}`,
  )
  return filled.slice(0, MAX_CELLS).join(' · ')
}

/** Moves the focus through the field and what was found, with the arrow keys. */
function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step === undefined) return
  event.preventDefault()
  const stops = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>('input, button')]
  stops.at((stops.indexOf(document.activeElement as HTMLElement) + step) % stops.length)!.focus()
}

/** Returns the things that live, and the other subjects of entries: the newest first. Requests are found by their positions. */
function knownThings(
  entries: readonly { readonly kind: string; readonly subject: string }[],
  lives: AnswersByRoute['GET /_sim/lifecycles']['rows'],
): Known[] {
  const named = new Map(lives.map(life => [life.id, life]))
  const known = new Map<string, Known>()
  const add = (id: string, kind: string) => {
    if (known.has(id)) return
    const life = named.get(id)
    known.set(id, { id, words: life === undefined ? kind.split('.', 1)[0]! : wordsOf(life) })
  }
  for (let index = entries.length - 1; index >= 0; index--) {
    const { kind, subject } = entries[index]!
    if (kind !== 'request' && subject !== '') add(subject, kind)
  }
  for (const { id, kind } of lives) add(id, kind)
  return [...known.values()]
}

function wordsOf({ id, kind, name, state }: AnswersByRoute['GET /_sim/lifecycles']['rows'][number]): string {
  return `${name === '' || name === id ? kind : `${kind} ${name}`}, ${state}`
}

function findThings(known: readonly Known[], wanted: string): Known[] {
  const text = wanted.toLowerCase()
  const begins = known.filter(({ id }) => id.toLowerCase().startsWith(text))
  const contains = known.filter(
    thing => !begins.includes(thing) && `${thing.id} ${thing.words}`.toLowerCase().includes(text),
  )
  return [...begins, ...contains].slice(0, MAX_FOUND)
}
