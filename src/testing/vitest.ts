/**
 * Helpers for vitest: a simulator a test, told only when the test fails, and matchers for what a client did.
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

/** How the simulator of each test is made: the options of `createSimulator`, and where MSW shall answer. */
export interface TestOptions extends SimulatorOptions {
  /** Address of the service: MSW answers what goes there while the test runs. Without it only `sim.fetch` does. */
  readonly baseUrl?: string
}

export interface SimulatorFixtures {
  /** Override it for a file or a suite: `test.override('simOptions', { fixtures: 'empty' })`. */
  simOptions: TestOptions
  /** A simulator of the test's own. */
  sim: Simulator
}

/**
 * vitest's `test` with a simulator: made before each test, from `simOptions`, and gone after it. When the test fails,
 * what its client asked last, what became of the deployments and batches it touched, and the seed stand on stderr.
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

/** As `vitest -t` matches it. */
function fullNameOf({ name, suite }: { readonly name: string; readonly suite?: Suite | undefined }): string {
  return suite === undefined ? name : `${fullNameOf(suite)} ${name}`
}

expect.extend(matchers)

declare module 'vitest' {
  interface Assertion<T> extends SimulatorMatchers<T> {}
  interface AsymmetricMatchersContaining extends SimulatorMatchers {}
}

export { expect }
