/** What causes commands that no entry of the journal caused. */

/** Who gave a command that no entry caused: code of the user of the simulator, or the weather. */
export type Giver = 'program' | 'weather'

/** The values of `Journal.origin` that are not positions of an entry. Readers of entries see 0 in their place. */
export const ORIGIN = { program: -2, weather: -1 } as const satisfies Record<Giver, number>

/**
 * Calls `act`. The commands and fault rules in it are caused by an entry of the journal, or by one of `ORIGIN`.
 *
 * @param origin position of the entry in the journal
 */
export function actFor<Result>(journal: { origin: number }, origin: number, act: () => Result): Result {
  const previous = journal.origin
  journal.origin = origin
  try {
    return act()
  } finally {
    journal.origin = previous
  }
}
