/**
 * Helpers for vitest: a simulator for each test, a report of it if the test fails, and matchers.
 *
 * @example
 * import { expect, test } from 'modelhost-sim/vitest'
 *
 * test('creates one deployment', async ({ sim }) => {
 *   await deploy(sim.fetch, sim.token)
 *   expect(sim).toHaveReceived('createLlmDeployment', { times: 1, body: { gpu: 'H100-80GB' } })
 * })
 */
import { test as base, expect, type RunnerTestCase, type RunnerTestSuite as Suite } from 'vitest'
import type { SimulatorOptions } from '../../simulator/simulator.ts'
import { createSimulator } from '../explore/explorable.ts'
import type { ExplorableSimulator } from '../explore/explorable-simulator.ts'
import { formatFailureReport } from './failure-report.ts'
import { matchers, type SimulatorMatchers } from './matchers.ts'

/** Options for the simulator of each test: those of `createSimulator`, and the address for MSW. */
export interface TestOptions extends SimulatorOptions {
  /** The address of the service. MSW answers requests to it while the test runs. Default: only `sim.fetch` answers. */
  readonly baseUrl?: string
  /**
   * Records each test, and keeps the recording of a failed one: true for the folder `modelhost-sim` of temporary files,
   * or a folder. A recording contains prompts. Default: the variable `MODELHOST_SIM_RECORD`, a folder; without it, none.
   */
  readonly record?: boolean | string
}

export interface SimulatorFixtures {
  /** Override it for a file or a suite: `test.override('simOptions', { fixtures: 'empty' })`. */
  simOptions: TestOptions
  /** A simulator of the test's own. */
  sim: ExplorableSimulator
}

interface ServedFixture {
  /** The simulator that answers at `baseUrl`, also in tests that do not name `sim`; undefined without `baseUrl`. */
  servedSim: ExplorableSimulator | undefined
}

/** Loads MSW, which only tests with a `baseUrl` need. */
async function loadMsw() {
  try {
    const [node, transport] = await Promise.all([import('msw/node'), import('./msw.ts')])
    return { setupServer: node.setupServer, ...transport }
  } catch (error) {
    const { message } = error as Error
    if (!/Cannot find (?:package|module) 'msw/.test(message)) throw error
    throw new Error("Failed to serve the baseUrl: the package 'msw' is missing. Run npm install -D msw.", {
      cause: error,
    })
  }
}

/**
 * vitest's `test` with a simulator, created from `simOptions` before each test and disposed after it. If the test fails,
 * stderr gets the last requests, the events of the touched deployments and batches, and the seed.
 */
export const test = base.extend<SimulatorFixtures & ServedFixture>({
  simOptions: [{}, { injected: false }],
  // For each test: one that does not name `sim` would otherwise reach the real service at the address.
  servedSim: [
    async ({ simOptions, task }, use) => {
      const { baseUrl } = simOptions
      if (baseUrl === undefined) return use(undefined)
      if (task.concurrent) {
        throw new Error(
          `Failed to serve ${baseUrl}: the test '${task.name}' is concurrent, and MSW answers for the whole process. ` +
            'Leave out concurrent, or leave out baseUrl and give the client sim.fetch.',
        )
      }
      const { setupServer, handlers, listenOptions } = await loadMsw()
      return useSimulator(simOptions, task, async sim => {
        const server = setupServer(...handlers(sim, { baseUrl }))
        server.listen(listenOptions)
        try {
          await use(sim)
        } finally {
          server.close()
        }
      })
    },
    { auto: true },
  ],
  sim: async ({ simOptions, servedSim, task }, use) => {
    if (servedSim !== undefined) return use(servedSim)
    return useSimulator(simOptions, task, use)
  },
})

/**
 * Creates a simulator for a test, and disposes it afterwards. Records it if that is wanted. If the test failed, writes its
 * report.
 */
async function useSimulator(
  { baseUrl: _, record = process.env.MODELHOST_SIM_RECORD ?? false, ...options }: TestOptions,
  task: RunnerTestCase,
  use: (sim: ExplorableSimulator) => Promise<void>,
): Promise<void> {
  const sim = createSimulator(options)
  const recorded = record === false ? undefined : await import('./recorded-test.ts')
  const recording = recorded?.beginRecording(sim)
  try {
    await use(sim)
  } finally {
    if (task.result?.state === 'fail') {
      const location = { test: fullNameOf(task), file: task.file.name }
      process.stderr.write(formatFailureReport(sim, location, recording !== undefined))
      if (recording !== undefined) {
        const folder = record as true | string
        process.stderr.write(recorded!.keepRecording(recording, location, folder))
        process.stderr.write(await recorded!.keepPage(recording, location, folder))
      }
    }
    await sim[Symbol.asyncDispose]()
  }
}

/** Returns the full name of a test, which `vitest -t` matches. */
function fullNameOf({ name, suite }: { readonly name: string; readonly suite?: Suite | undefined }): string {
  return suite === undefined ? name : `${fullNameOf(suite)} ${name}`
}

expect.extend(matchers)

declare module 'vitest' {
  interface Assertion<T> extends SimulatorMatchers<T> {}
  interface AsymmetricMatchersContaining extends SimulatorMatchers {}
}

export { expect }
