/** The worlds of the simulator and the snapshots of the shown one: places to go, and to go back to. */

import { useSignal } from '@preact/signals'
import { DayTime } from '../../parts/day-time.tsx'
import { formatTime } from '../../parts/format.ts'
import { Table } from '../../parts/lists/table.tsx'
import { Panel } from '../../parts/panel.tsx'
import { forkWorld } from '../../store/fork-world.ts'
import { DEFAULT_WORLD, useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { CreateWorld } from './create-world.tsx'
import { CompareButton, Differences, type Other } from './differences.tsx'
import { Snapshots } from './snapshots.tsx'

export function WorldsView() {
  const session = useSession()
  const { value: worlds, error } = useAnswer('GET /_sim/worlds', {}, { world: DEFAULT_WORLD, refresh: 'requests' })
  const compared = useSignal<Other | undefined>(undefined)
  const here = session.world.value
  const open = (world: string) =>
    session.place.go({ world: world === DEFAULT_WORLD ? undefined : world, origin: undefined })
  const remove = async (world: string) => {
    if (world === here) open(DEFAULT_WORLD)
    await session.act(`Delete ${world}`, 'DELETE /_sim/worlds/{world}', { world }, DEFAULT_WORLD)
  }
  return (
    <div class="stack">
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
                    <button type="button" class="small" onClick={() => open(world)}>
                      Open
                    </button>
                    <CompareButton other={{ with: world }} compared={compared} />
                  </>
                )}
                <button type="button" class="small" onClick={() => forkWorld(session, world)}>
                  Fork
                </button>
                {world !== DEFAULT_WORLD && (
                  <button type="button" class="small danger" onClick={() => remove(world)}>
                    Delete
                  </button>
                )}
              </>,
            ],
          }))}
        />
        <CreateWorld />
      </Panel>
      {compared.value !== undefined && <Differences world={here} other={compared.value} />}
      <Snapshots compared={compared} />
    </div>
  )
}
