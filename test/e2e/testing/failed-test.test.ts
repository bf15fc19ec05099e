/** A test of a user that fails: vitest runs it, its report names a recording, and that replays. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { ReaderFolder } from '../docs/page-blocks.ts'

const VITEST = resolve('node_modules/vitest/vitest.mjs')

const folder = ReaderFolder.ofTests()

/** Runs the tests of the folder whose files have a name. */
function runTests(name: string) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('VITEST')))
  return spawnSync(process.execPath, [VITEST, 'run', name, '--root', folder.path], {
    ...{ cwd: folder.path, encoding: 'utf8', timeout: 100_000 },
    env: { ...env, NO_COLOR: '1' },
  })
}

test('a failed test keeps its recording, a passed one does not, and the command of the report replays it', async () => {
  folder.write('vitest.config.mjs', 'export default { test: { watch: false } }')
  folder.write(
    'client.test.mjs',
    `import { expect, test } from 'modelhost-sim/vitest'
    test.override('simOptions', { seed: 5, record: 'kept' })
    const list = sim => sim.fetch('http://sim/deploy/list', { headers: { authorization: 'Bearer ' + sim.token } })
    test('lists deployments', async ({ sim }) => {
      expect((await list(sim)).status).toBe(200)
    })
    test('survives an outage', async ({ sim }) => {
      sim.faults.add({ on: 'listDeployments', fault: { kind: 'status', status: 503 } })
      const answer = await list(sim)
      await sim.clock.advance('10m')
      expect(answer.status).toBe(200)
    })`,
  )
  const { status, stderr } = runTests('client')
  expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining('expected 503 to be 200') })
  const [, path] = /recording \(with prompts\): (.*)\n/.exec(stderr) ?? []
  expect(readdirSync(join(folder.path, 'kept'))).toEqual([
    'client.test.mjs-survives-an-outage.html',
    'client.test.mjs-survives-an-outage.ndjson',
  ])
  expect(path).toBe(join('kept', 'client.test.mjs-survives-an-outage.ndjson'))
  const [, command] = /replay: (npx modelhost-sim replay .*)\n/.exec(stderr) ?? []
  expect(await folder.command(command!)).toEqual({
    ...{ code: 0, stderr: '' },
    stdout: `${path}: 1 request replayed, every answer is the same.\n`,
  })
})

test('a concurrent test with a baseUrl is refused, because MSW answers the whole process by one world', () => {
  folder.write(
    'concurrent.test.mjs',
    `import { expect, test } from 'modelhost-sim/vitest'
    test.override('simOptions', { fixtures: 'empty', baseUrl: 'https://api.example.test' })
    for (const name of ['one', 'another']) test.concurrent(name, ({ sim }) => expect(sim.requests).toEqual([]))
    test('alone', ({ sim }) => expect(sim.requests).toEqual([]))`,
  )
  const { status, stdout, stderr } = runTests('concurrent')
  expect(status).toBe(1)
  expect(stdout).toContain('2 failed | 1 passed')
  expect(stderr).toContain(
    "Failed to serve https://api.example.test: the test 'one' is concurrent, and MSW answers for the whole process. " +
      'Leave out concurrent, or leave out baseUrl and give the client sim.fetch.',
  )
})
