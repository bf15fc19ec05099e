/** The global `fetch` that a module saves when it is imported: during a run of explore, it is that of the run. */

const FETCH_OF_RUN = Symbol.for('modelhost-sim.exploreFetch')

type Fetch = typeof globalThis.fetch
type GlobalWithFetch = typeof globalThis & { [FETCH_OF_RUN]?: Fetch | undefined }

const holder: GlobalWithFetch = globalThis

/** Makes the `fetch` that modules have saved that of a run. Undefined: the run has ended. */
export function followFetch(fetch: Fetch | undefined): void {
  holder[FETCH_OF_RUN] = fetch
}

/** Imports a module. If it saves the global `fetch`, as many client libraries do, the saved one follows each run. */
export async function importWithFetch<Module>(load: () => Promise<Module>): Promise<Module> {
  const { fetch } = globalThis
  const following: Fetch = (input, init) => (holder[FETCH_OF_RUN] ?? fetch)(input, init)
  globalThis.fetch = following
  try {
    return await load()
  } finally {
    // A module that replaced the global fetch keeps its own.
    if (globalThis.fetch === following) globalThis.fetch = fetch
  }
}
