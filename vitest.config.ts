import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { LongFilesFirst } from './test/setup/long-files-first.ts'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const e2e = 'test/e2e/**/*.test.ts'
const long = 'test/**/*.long.test.ts'
/** Of tests that start processes of the built package. */
const processes = { globalSetup: 'test/e2e/before-workers.setup.ts', isolate: false, testTimeout: 180_000 }
const conditions = ['modelhost-sim-source', 'module', 'node', 'development|production']

export default defineConfig({
  resolve: {
    conditions,
    // Scenarios and examples import the package by its name, which Vite does not resolve through the package's exports.
    alias: [
      { find: /^modelhost-sim$/, replacement: source('src/index.ts') },
      { find: /^modelhost-sim\/explore$/, replacement: source('src/workbench/explore/index.ts') },
      { find: /^modelhost-sim\/matchers$/, replacement: source('src/workbench/testing/matchers.ts') },
      { find: /^modelhost-sim\/msw$/, replacement: source('src/workbench/testing/msw.ts') },
      { find: /^modelhost-sim\/scenario$/, replacement: source('src/workbench/scenario/index.ts') },
      { find: /^modelhost-sim\/vitest$/, replacement: source('src/workbench/testing/vitest.ts') },
    ],
  },
  ssr: { resolve: { conditions } },
  test: {
    // A timeout ends a test or a hook that hangs. It is long, since tests compete for the processor with all other work.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    setupFiles: [
      ...['test/setup/platform-globals.ts', 'test/setup/wall-clock.ts', 'test/setup/fixed-seed.ts'],
      ...(process.env.WORLD_DIGESTS === undefined ? [] : ['test/setup/world-digests.ts']),
    ],
    // Transformed files are kept on disk for the next run.
    experimental: { fsModuleCache: true },
    reporters: ['default', './test/setup/slowest-files.ts'],
    sequence: { sequencer: LongFilesFirst },
    tags: [{ name: 'slow', description: 'Takes a tenth of a second or more. `npm run test:slow` runs these tests.' }],
    pool: 'forks',
    // Tests create very many objects that live shortly.
    execArgv: ['--max-semi-space-size=64'],
    maxWorkers: '100%',
    projects: [
      // Modules of `src` keep no state, so the files of a worker share them without isolation. So `vi.mock` of a module of
      // `src` does not work: a test that needs another real time uses test/setup/wall-clock.ts.
      {
        extends: true,
        test: { name: 'in-process', include: ['test/**/*.test.ts'], exclude: [e2e, long], isolate: false },
      },
      { extends: true, test: { name: 'e2e', include: [e2e], exclude: [long], ...processes } },
      {
        extends: true,
        test: { name: 'long', include: [long], exclude: [e2e], isolate: false, testTimeout: 180_000 },
      },
      { extends: true, test: { name: 'e2e-long', include: ['test/e2e/**/*.long.test.ts'], ...processes } },
    ],
  },
})
