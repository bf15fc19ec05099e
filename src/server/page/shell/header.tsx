import { Quiet } from '../parts/buttons.tsx'
import { Select } from '../parts/fields.tsx'
import { formatTime } from '../parts/format.ts'
import { Glyph } from '../parts/words.tsx'
import type { LinkState } from '../store/feed.ts'
import { DEFAULT_WORLD, useSession } from '../store/session.ts'
import { useAnswer } from '../store/use-answer.ts'
import { OpenFile, SavePage } from './files.tsx'
import type { Overlaid } from './keyboard.ts'

const LINK_WORDS: Readonly<Record<LinkState, readonly [glyph: string, words: string]>> = {
  connecting: ['◌', 'connecting'],
  live: ['●', 'live'],
  lost: ['○', 'no answer, trying again'],
  locked: ['⚿', 'locked'],
}

/** Least real milliseconds between two looks for worlds that others made. */
const WORLDS_PAUSE_MS = 2_500

/** @param show opens a box above the page */
export function Header({ show }: { show: (box: Overlaid) => void }) {
  const session = useSession()
  const { value: worlds } = useAnswer('GET /_sim/worlds', {}, { world: DEFAULT_WORLD, pauseMs: WORLDS_PAUSE_MS })
  const [glyph, words] = LINK_WORDS[session.feed.link.value]
  const current = session.world.value
  const known = worlds ?? []
  // A new world is shown before it is listed.
  const shown = known.some(({ world }) => world === current) ? known : [...known, { world: current, fork_of: null }]
  return (
    <header class="top">
      <a class="brand" href={session.place.link({})}>
        modelhost-sim
      </a>
      <span class="faint about">The control room of a simulated GPU cloud</span>
      <span class={`link ${session.feed.link.value}`} role="status">
        <Glyph of={glyph} /> {words}
      </span>
      <span class="space" />
      <Quiet onClick={() => show('finder')} aria-label="Find by id" title="Ctrl K">
        ⌕ <span class="wide-only">Find</span>
      </Quiet>
      <Select
        label="World"
        class="world-picker"
        value={current}
        options={shown.map(({ world, fork_of: made }) => [
          world,
          made ? `${world}: fork of ${made.world} at ${formatTime(made.at)}` : world,
        ])}
        onChange={world => session.place.go({ world: world === DEFAULT_WORLD ? undefined : world, origin: undefined })}
      />
      <Quiet onClick={() => show('worlds')} aria-label="Worlds and snapshots" title="Create, compare, delete">
        ◉ <span class="wide-only">Worlds</span>
      </Quiet>
      <OpenFile />
      <SavePage />
      <Quiet onClick={() => show('help')} aria-label="Keys" title="?">
        ?
      </Quiet>
    </header>
  )
}
