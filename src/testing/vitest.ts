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
import { setupServer } from 'msw/node'
import { test as base, expect, type RunnerTestSuite as Suite } from 'vitest'
import { createSimulator, type Simulator, type SimulatorOptions } from '../simulator/simulator.ts'
import { handlers, listenOptions } from '../transports/msw/handlers.ts'
import { formatFailureReport } from './failure-report.ts'
import { matchers, type SimulatorMatchers } from './matchers.ts'

/** Options for the simulator of each test: those of `createSimulator`, and the address for MSW. */
export interface TestOptions extends SimulatorOptions {
  /** The address of the service. MSW answers requests to it while the test runs. Default: only `sim.fetch` answers. */
  readonly baseUrl?: string
}

export interface SimulatorFixtures {
  /** Override it for a file or a suite: `test.override('simOptions', { fixtures: 'empty' })`. */
  simOptions: TestOptions
  /** A simulator of the test's own. */
  sim: Simulator
}

/**
 * vitest's `test` with a simulator, created from `simOptions` before each test and disposed after it. If the test fails,
 * stderr gets the last requests, the events of the touched deployments and batches, and the seed.
 */
export const test = base.extend<SimulatorFixtures>({
  simOptions: [{}, { injected: false }],
  sim: async ({ simOptions, task }, use) => {
    const { baseUrl, ...options } = simOptions
    const sim = createSimulator(options)
    const server = baseUrl === undefined ? undefined : setupServer(...handlers(sim, { baseUrl }))
    server?.listen(listenOptions)
    try {
      await use(sim)
    } finally {
      if (task.result?.state === 'fail') {
        process.stderr.write(formatFailureReport(sim, { test: fullNameOf(task), file: task.file.name }))
      }
      server?.close()
      await sim[Symbol.asyncDispose]()
    }
  },
})

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
