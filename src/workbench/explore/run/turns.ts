/**
 * Turns of runs: a run replaces globals of the process, and one world at a time moves its timers. So runs of one
 * process come one after the other, also those of several copies of this package.
 */

const RUN = Symbol.for('modelhost-sim.exploreRun')

type GlobalWithRun = typeof globalThis & { [RUN]?: Promise<void> | undefined }

/**
 * Waits until no other run is in progress, and begins one.
 *
 * @returns a function that ends it
 * @throws Error if timers of the process are fake: a flow has timers of its world
 */
export async function takeTurn(flow: string): Promise<() => void> {
  const holder: GlobalWithRun = globalThis
  // Each run that waits looks again, because another one may have been first.
  while (holder[RUN] !== undefined) await holder[RUN]
  assertRealTimers(flow)
  let end = () => {}
  holder[RUN] = new Promise(resolve => {
    end = () => {
      holder[RUN] = undefined
      resolve()
    }
  })
  return end
}

function assertRealTimers(flow: string): void {
  const names = ['setTimeout', 'setInterval', 'Date'] as const
  const fake = names.find(name => 'clock' in (globalThis[name] as object))
  if (fake === undefined) return
  throw new Error(
    `Failed to explore ${flow}: ${fake} is fake, and a flow has timers of its own world. ` +
      'Call vi.useRealTimers() or jest.useRealTimers() first.',
  )
}
