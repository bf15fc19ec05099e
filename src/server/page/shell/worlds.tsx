/** The worlds of the simulator and the snapshots of the shown one: places to go, to go back to, and to compare. */

import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Button, Small } from '../parts/buttons.tsx'
import { TextField } from '../parts/fields.tsx'
import { formatTime, plural } from '../parts/format.ts'
import { set } from '../parts/hooks.ts'
import { Table } from '../parts/lists.tsx'
import { DetailsHead, Overlay, Panel } from '../parts/panel.tsx'
import { DayTime, ThingLink } from '../parts/words.tsx'
import type { AnswersByRoute } from '../store/ask.ts'
import { DEFAULT_WORLD, forkWorld, useSession } from '../store/session.ts'
import { useAnswer } from '../store/use-answer.ts'

export function Worlds({ close }: { close: () => void }) {
  const session = useSession()
  const { value: worlds, error } = useAnswer('GET /_sim/worlds', {}, { world: DEFAULT_WORLD, refresh: 'requests' })
  const compared = useSignal<Other | undefined>(undefined)
  const here = session.world.value
  // A link opens the inspector, which is below.
  const { id } = session.place.value
  const before = useRef(id)
  useEffect(() => {
    if (id !== before.current) close()
  }, [id])
  const show = (world: string) =>
    session.place.go({ world: world === DEFAULT_WORLD ? undefined : world, origin: undefined })
  const open = (world: string) => {
    close()
    show(world)
  }
  const remove = async (world: string) => {
    if (world === here) show(DEFAULT_WORLD)
    await session.act(`Delete ${world}`, 'DELETE /_sim/worlds/{world}', { world }, DEFAULT_WORLD)
  }
  return (
    <Overlay label="Worlds" class="large stack">
      <DetailsHead what="the worlds" close={close} title="Worlds" />
      <Panel title="Worlds" route="GET /_sim/worlds" error={error}>
        <Table
          titles={['World', 'Made of', 'Seed', 'Time', '']}
          rows={(worlds ?? []).map(({ world, fixtures, seed, now, fork_of: made }) => ({
            key: world,
            isCurrent: world === here,
            cells: [
              world === here ? `● ${world}` : world,
              made === null ? fixtures : `fork of ${made.world} at ${formatTime(made.at)}`,
              seed,
              <DayTime key={now} iso={now} />,
              <>
                {world === here ? (
                  <CompareButton label="Compare with its start" other={{ fresh: 'true' }} compared={compared} />
                ) : (
                  <>
                    <Small words="Open" onClick={() => open(world)} />
                    <CompareButton other={{ with: world }} compared={compared} />
                  </>
                )}
                <Small words="Fork" onClick={() => forkWorld(session, world)} />
                {world !== DEFAULT_WORLD && <Small words="Delete" class="danger" onClick={() => remove(world)} />}
              </>,
            ],
          }))}
        />
        <CreateWorld />
      </Panel>
      {compared.value !== undefined && <Differences world={here} other={compared.value} />}
      <Snapshots compared={compared} />
    </Overlay>
  )
}

/** Creates a world of a fixture. */
function CreateWorld() {
  const session = useSession()
  const fixtures = useSignal('')
  const seed = useSignal('')
  const weather = useSignal('')
  const create = async (event: Event) => {
    event.preventDefault()
    const filled = Object.entries({ fixtures, seed, weather }).filter(([, { value }]) => value !== '')
    const fields = { ...Object.fromEntries(filled.map(([name, { value }]) => [name, value])), clock: 'manual' as const }
    const made = await session.act('Create a world', 'POST /_sim/worlds', fields, DEFAULT_WORLD)
    if (made !== undefined) session.place.go({ world: made.world, origin: undefined })
  }
  return (
    <form class="toolbar create" aria-label="Create a world" onSubmit={create}>
      <TextField label="Fixture" size={12} placeholder="two-nodes" value={fixtures} />
      <TextField label="Seed" size={12} placeholder="7" value={seed} />
      <TextField label="Weather" size={12} placeholder="launch-day" value={weather} />
      <Button words="Create a world" type="submit" />
    </form>
  )
}

/** The snapshots of the shown world. */
function Snapshots({ compared }: { compared: Signal<Other | undefined> }) {
  const session = useSession()
  const { value: snapshots, error } = useAnswer('GET /_sim/snapshots', {})
  const name = useSignal('')
  const take = async (event: Event) => {
    event.preventDefault()
    const fields = name.value === '' ? {} : { name: name.value }
    const made = await session.act('Take a snapshot', 'POST /_sim/snapshots', fields)
    if (made !== undefined) name.value = ''
  }
  return (
    <Panel title={`Snapshots of ${session.world.value}`} label="Snapshots" route="GET /_sim/snapshots" error={error}>
      {snapshots?.length === 0 && <p class="empty">No snapshot was taken yet.</p>}
      {snapshots !== undefined && snapshots.length > 0 && (
        <Table
          titles={['Snapshot', 'Time', '']}
          rows={snapshots.map(({ snapshot, now }) => ({
            key: snapshot,
            cells: [
              snapshot,
              <DayTime key={now} iso={now} />,
              <>
                <Small
                  words="Go back to it"
                  onClick={() =>
                    session.act(`Go back to ${snapshot}`, 'POST /_sim/snapshots/{snapshot}/restore', { snapshot })
                  }
                />
                <CompareButton other={{ snapshot }} compared={compared} />
                <Small
                  words="Delete"
                  class="danger"
                  onClick={() =>
                    session.act(`Delete the snapshot ${snapshot}`, 'DELETE /_sim/snapshots/{snapshot}', { snapshot })
                  }
                />
              </>,
            ],
          }))}
        />
      )}
      <form class="toolbar create" aria-label="Take a snapshot" onSubmit={take}>
        <TextField label="Name" size={16} placeholder="before-the-storm" value={name} />
        <Button words="Take a snapshot" type="submit" />
      </form>
    </Panel>
  )
}

/** How many differences are listed. */
const MAX_SHOWN = 200

type Difference = AnswersByRoute['GET /_sim/differences']['differences'][number]

/** What the shown world is compared with: another world, one of its snapshots, or its own start. */
type Other = { readonly with: string } | { readonly snapshot: string } | { readonly fresh: 'true' }

type CompareButtonProps = { label?: string; other: Other; compared: Signal<Other | undefined> }

/** Compares the shown world with something, or ends that. */
function CompareButton({ label = 'Compare', other, compared }: CompareButtonProps) {
  const isCompared = JSON.stringify(compared.value) === JSON.stringify(other)
  return <Small words={label} aria-pressed={isCompared} onClick={() => set(compared, isCompared ? undefined : other)} />
}

/** What differs between two worlds, and the entry with which they went apart. */
function Differences({ world, other: fields }: { world: string; other: Other }) {
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
