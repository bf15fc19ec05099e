/** examples/shards/bullmq on a Redis server: a worker is killed, and another one takes its shard over. */
import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort, Installed, runIn, start } from './installed.ts'

const HAS_REDIS = spawnSync('redis-server', ['--version']).status === 0
const installed = new Installed()
beforeAll(() => installed.build(), 120_000)
afterAll(() => installed.remove())

/** Kills its process at the eighth run, with the worker and all that the worker started, as a lost machine does. */
const KILLER = `
import { existsSync, writeFileSync } from 'node:fs'
let runs = 0
export default async ({ fetch, url, token }) => {
  const spared = new URL('spared', import.meta.url)
  if (++runs === 8 && !existsSync(spared)) {
    writeFileSync(spared, '')
    process.kill(0, 'SIGKILL')
  }
  const headers = { authorization: 'Bearer ' + token }
  await fetch(url + '/deploy/list', { headers, signal: AbortSignal.timeout(1000) }).catch(() => {})
}`

test.skipIf(!HAS_REDIS)(
  `the shard of a worker that is killed is completed by another worker${HAS_REDIS ? '' : ' (redis-server is missing)'}`,
  async () => {
    const folder = installed.copy('shards/bullmq', 'bullmq')
    writeFileSync(join(folder, 'client.js'), KILLER)
    const REDIS_PORT = await freePort()
    launch(['redis-server', '--port', REDIS_PORT, '--save', '', '--dir', folder])
    const producer = runIn(folder, ['node', 'producer.js'], { REDIS_PORT })
    const [code, signal] = await once(launch(['node', 'worker.js']).child, 'exit')
    expect([code, signal]).toEqual([null, 'SIGKILL'])
    const second = launch(['node', 'worker.js'])
    const { code: merged, said } = await producer
    expect(said).toContain('\nComplete: 40 of 40\nPlayed twice: nothing\nNothing found\n')
    expect(merged).toBe(0)
    expect(second.said()).toMatch(/^Job \S+ goes to another worker$/m)
    expect(second.said()).toMatch(/^Continues after [1-9] runs?$/m)

    function launch(command: readonly string[]): { child: ChildProcess; said(): string } {
      const child = start(folder, command, { REDIS_PORT })
      onTestFinished(() => {
        if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
      })
      let said = ''
      for (const stream of [child.stdout!, child.stderr!]) {
        stream.setEncoding('utf8').on('data', text => {
          said += text
        })
      }
      return { child, said: () => said }
    }
  },
  120_000,
)
