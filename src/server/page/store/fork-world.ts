import { DEFAULT_WORLD, type Session } from './session.ts'

/** Forks a world and shows the fork, whose clock is manual. Returns its name; undefined if that failed. */
export async function forkWorld(
  session: Session,
  from: string,
  label = `Fork ${from}`,
  view?: string,
): Promise<string | undefined> {
  const made = await session.act(label, 'POST /_sim/worlds', { from, clock: 'manual' }, DEFAULT_WORLD)
  if (made !== undefined) session.place.go({ ...(view !== undefined && { view }), world: made.world, origin: from })
  return made?.world
}
