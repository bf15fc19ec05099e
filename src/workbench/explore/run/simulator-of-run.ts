/** The simulator that a flow sees: its world is that of the run, and the run itself belongs to explore. */

import type { Simulator } from '../../../simulator/simulator-interface.ts'

/** What explore needs for itself, by part of the simulator, with what a flow can do in place of it. */
const KEPT = {
  sim: {
    names: ['reset', 'restore', 'explore', Symbol.asyncDispose],
    advice: 'Leave it out, or work with sim.fork().',
  },
  clock: {
    names: ['advance', 'advanceTo', 'until', 'next', 'set', 'pause', 'reset', 'restore', 'dispose'],
    advice: 'Wait with sleep(ms).',
  },
  faults: {
    names: ['remove', 'clear'],
    advice: 'Leave it out: the faults of the plan are among them.',
  },
} as const satisfies Readonly<Record<string, { names: readonly PropertyKey[]; advice: string }>>

/**
 * Returns the simulator with the client's `fetch` and its sleep, so that its requests and waits are known. Calls that
 * would end or move the run throw an error that says so.
 */
export function simulatorOfRun(
  sim: Simulator,
  fetch: typeof globalThis.fetch,
  sleep: Simulator['clock']['sleep'],
): Simulator {
  return guarded(sim, 'sim', {
    fetch,
    clock: guarded(sim.clock, 'clock', { sleep }),
    faults: guarded(sim.faults, 'faults', {}),
  })
}

function guarded<Part extends object>(part: Part, name: keyof typeof KEPT, replaced: Partial<Part>): Part {
  const { names, advice }: { readonly names: readonly PropertyKey[]; readonly advice: string } = KEPT[name]
  const label = name === 'sim' ? 'sim' : `sim.${name}`
  return new Proxy(part, {
    get(target, key) {
      if (Object.hasOwn(replaced, key)) return replaced[key as keyof Part]
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      // A method of the class reads private fields, which the proxy does not have.
      if (!names.includes(key)) return value.bind(target)
      return () => {
        throw new Error(`Failed to call ${label}.${String(key)}: explore moves and ends the runs of a flow. ${advice}`)
      }
    },
  })
}
