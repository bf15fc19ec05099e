import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { LongFilesFirst } from './test/setup/long-files-first.ts'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const tests = readdirSync(source('test'), { recursive: true, encoding: 'utf8' })
  .map(path => join('test', path).replaceAll('\\', '/'))
  .filter(path => path.endsWith('.test.ts'))
const e2e = 'test/e2e/**/*.test.ts'
/** Files that replace a module of `src`. */
const mocked = tests.filter(path => readFileSync(source(path), 'utf8').includes('vi.mock('))
const conditions = ['modelhost-sim-source', 'module', 'node', 'development|production']

export default defineConfig({
  resolve: {
    conditions,
    // Scenarios and examples import the package by its name, which Vite does not resolve through the package's exports.
    alias: [
      { find: /^modelhost-sim$/, replacement: source('src/index.ts') },
      { find: /^modelhost-sim\/matchers$/, replacement: source('src/testing/matchers.ts') },
      { find: /^modelhost-sim\/msw$/, replacement: source('src/transports/msw/handlers.ts') },
      { find: /^modelhost-sim\/scenario$/, replacement: source('src/scenario/index.ts') },
      { find: /^modelhost-sim\/vitest$/, replacement: source('src/testing/vitest.ts') },
    ],
  },
  ssr: { resolve: { conditions } },
  test: {
    // Processes that a test starts compete with the workers for the processor.
    testTimeout: 30_000,
    setupFiles: ['test/setup/restore-fetch.ts'],
    reporters: ['default', './test/setup/slowest-files.ts'],
    sequence: { sequencer: LongFilesFirst },
    pool: 'forks',
    maxWorkers: '100%',
    projects: [
      // Modules of `src` keep no state, so the files of a worker share them without isolation.
      {
        extends: true,
        test: { name: 'in-process', include: ['test/**/*.test.ts'], exclude: [...mocked, e2e], isolate: false },
      },
      { extends: true, test: { name: 'in-process-mocked', include: mocked } },
      {
        extends: true,
        test: { name: 'e2e', include: [e2e], globalSetup: 'test/e2e/build-package.setup.ts', isolate: false },
      },
    ],
  },
})
