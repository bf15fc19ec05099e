import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const tests = readdirSync(source('test'), { recursive: true, encoding: 'utf8' })
  .map(path => join('test', path))
  .filter(path => path.endsWith('.test.ts'))
/** Those that put a module of their own in the place of one of ours. */
const mocking = tests.filter(path => readFileSync(source(path), 'utf8').includes('vi.mock('))
const conditions = ['modelhost-sim-source', 'module', 'node', 'development|production']

export default defineConfig({
  resolve: {
    conditions,
    // Vite does not resolve a package's own name through its exports, which scenarios and examples import by.
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
    // A process that a test starts shares two cores with the other workers.
    testTimeout: 30_000,
    setupFiles: ['test/restore-fetch.setup.ts'],
    pool: 'forks',
    maxWorkers: '100%',
    projects: [
      // No module holds anything that changes, so the files of a worker share them: loaded once, and warm.
      { extends: true, test: { name: 'shared', include: ['test/**/*.test.ts'], exclude: mocking, isolate: false } },
      { extends: true, test: { name: 'isolated', include: mocking } },
    ],
  },
})
