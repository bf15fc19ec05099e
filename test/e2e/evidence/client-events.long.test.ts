/** The live events of a simulator in a script that does nothing else. */
import { spawnSync } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { ReaderFolder } from '../docs/page-blocks.ts'

const SCRIPT = `
import { createSimulator } from 'modelhost-sim'
import { createControlClient } from 'modelhost-sim/client'

const sim = createSimulator({ fixtures: 'empty' })
await sim.fetch('http://sim/deploy/list', { headers: { authorization: 'Bearer ' + sim.token } })
const types = []
for await (const { type } of createControlClient(sim).events({ after: 'start', kind: 'request', follow: false })) {
  types.push(type)
}
console.log(types.join())
`

test('a script reads all events of its simulator, and then goes on', () => {
  const folder = new ReaderFolder()
  onTestFinished(() => folder.remove())
  folder.write('events.mjs', SCRIPT)
  const { status, stdout } = spawnSync(process.execPath, ['events.mjs'], { cwd: folder.path, encoding: 'utf8' })
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'request\n' })
}, 60_000)
