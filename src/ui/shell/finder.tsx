import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { useSession } from '../store/session.ts'

/** How many suggestions are listed. */
const MAX_FOUND = 12

/** Finds a thing by a part of its id among those that the journal names, and opens its inspector. */
export function Finder({ close }: { close: () => void }) {
  const { feed, place } = useSession()
  const text = useSignal('')
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.focus(), [])
  const known = useMemo(() => knownIds(feed.entries), [feed.revision.value])
  const wanted = text.value.trim()
  const found = wanted === '' ? known.slice(0, MAX_FOUND) : findIds(known, wanted)
  const open = (id: string) => {
    close()
    place.go({ id })
  }
  return (
    <div class="overlay" role="dialog" aria-modal="true" aria-label="Find by id">
      <form
        class="overlay-box"
        onSubmit={event => {
          event.preventDefault()
          // An id that the journal does not name can be known to the simulator all the same.
          const first = found.includes(wanted) ? wanted : (found[0] ?? wanted)
          if (first !== '') open(first)
        }}
      >
        <input
          ref={input}
          type="search"
          class="filter wide"
          aria-label="An id, a name, or the position of a journal entry"
          placeholder="An id, a name, or the position of a journal entry"
          value={text.value}
          onInput={event => {
            text.value = event.currentTarget.value
          }}
        />
        <ul class="found">
          {found.map(id => (
            <li key={id}>
              <button type="button" class="linklike mono" onClick={() => open(id)}>
                {id}
              </button>
            </li>
          ))}
        </ul>
      </form>
    </div>
  )
}

/** Returns the subjects of entries, the newest first. Requests are found by their positions. */
function knownIds(entries: readonly { readonly kind: string; readonly subject: string }[]): string[] {
  const ids = new Set<string>()
  for (let index = entries.length - 1; index >= 0; index--) {
    const { kind, subject } = entries[index]!
    if (kind !== 'request' && subject !== '') ids.add(subject)
  }
  return [...ids]
}

function findIds(known: readonly string[], wanted: string): string[] {
  const text = wanted.toLowerCase()
  const begins = known.filter(id => id.toLowerCase().startsWith(text))
  const contains = known.filter(id => !begins.includes(id) && id.toLowerCase().includes(text))
  return [...begins, ...contains].slice(0, MAX_FOUND)
}
