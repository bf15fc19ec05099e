/** The worlds of the simulator and the snapshots of the shown one: places to go, and to go back to. */

import { formatDay, formatTime } from '../../parts/format.ts'
import { Panel } from '../../parts/panel.tsx'
import { forkWorld } from '../../store/fork-world.ts'
import { DEFAULT_WORLD, useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { useSignal } from '../../store/use-signal.ts'
import { CreateWorld } from './create-world.tsx'
import { Differences } from './differences.tsx'
import { Snapshots } from './snapshots.tsx'

export function WorldsView() {
  const session = useSession()
  const { value: worlds, error } = useAnswer('GET /_sim/worlds', {}, { world: DEFAULT_WORLD, refresh: 'requests' })
  const compared = useSignal<string | undefined>(undefined)
  const here = session.world.value
  const open = (world: string) =>
    session.place.go({ world: world === DEFAULT_WORLD ? undefined : world, origin: undefined })
  const remove = async (world: string) => {
    if (world === here) open(DEFAULT_WORLD)
    await session.act(`Delete ${world}`, 'DELETE /_sim/worlds/{world}', { world }, DEFAULT_WORLD)
  }
  return (
    <div class="stack">
      <Panel title="Worlds" route="GET /_sim/worlds" name="Worlds" error={error}>
        <div class="scroll-x">
          <table class="cards">
            <thead>
              <tr>
                <th scope="col">World</th>
                <th scope="col">Fixture</th>
                <th scope="col">Seed</th>
                <th scope="col">Time</th>
                <th scope="col">
                  <span class="hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {worlds?.map(({ world, fixtures, seed, now }) => (
                <tr key={world} aria-current={world === here}>
                  <th scope="row">
                    {world === here ? '● ' : ''}
                    {world}
                  </th>
                  <td data-label="Fixture">{fixtures}</td>
                  <td class="mono" data-label="Seed">
                    {seed}
                  </td>
                  <td data-label="Time">
                    <time dateTime={now}>
                      {formatDay(now)} {formatTime(now)}
                    </time>
                  </td>
                  <td class="buttons">
                    {world !== here && (
                      <>
                        <button type="button" class="small" onClick={() => open(world)}>
                          Open
                        </button>
                        <button
                          type="button"
                          class="small"
                          aria-pressed={compared.value === world}
                          onClick={() => {
                            compared.value = compared.value === world ? undefined : world
                          }}
                        >
                          Compare
                        </button>
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
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <CreateWorld />
      </Panel>
      {compared.value !== undefined && <Differences world={here} other={compared.value} />}
      <Snapshots />
    </div>
  )
}
