/** The entries of the library: their sources, by the names of the built files. */
export const ENTRIES = {
  index: 'src/index.ts',
  client: 'src/server/control/client/index.ts',
  explore: 'src/workbench/explore/index.ts',
  matchers: 'src/workbench/testing/matchers.ts',
  msw: 'src/workbench/testing/msw.ts',
  scenario: 'src/workbench/scenario/index.ts',
  vitest: 'src/workbench/testing/vitest.ts',
}
