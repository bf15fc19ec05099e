import { useSignal } from '@preact/signals'
import { TextField } from '../../parts/text-field.tsx'
import { DEFAULT_WORLD, useSession } from '../../store/session.ts'

/** Creates a world of a fixture. */
export function CreateWorld() {
  const session = useSession()
  const fixtures = useSignal('')
  const seed = useSignal('')
  const weather = useSignal('')
  const create = async (event: Event) => {
    event.preventDefault()
    const fields = {
      ...(fixtures.value !== '' && { fixtures: fixtures.value }),
      ...(seed.value !== '' && { seed: seed.value }),
      ...(weather.value !== '' && { weather: weather.value }),
      clock: 'manual' as const,
    }
    const made = await session.act('Create a world', 'POST /_sim/worlds', fields, DEFAULT_WORLD)
    if (made !== undefined) session.place.go({ world: made.world, origin: undefined })
  }
  return (
    <form class="toolbar create" aria-label="Create a world" onSubmit={create}>
      <TextField label="Fixture" size={12} placeholder="two-nodes" value={fixtures} />
      <TextField label="Seed" size={12} placeholder="7" value={seed} />
      <TextField label="Weather" size={12} placeholder="launch-day" value={weather} />
      <button type="submit">Create a world</button>
    </form>
  )
}
