/** Flows that wait for work outside of the world: other processes, threads and the thread pool. */
import { execFile } from 'node:child_process'
import { pbkdf2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { gzip } from 'node:zlib'
import { expect, test } from 'vitest'
import type { FlowFunction } from '../../../src/workbench/explore/flow.ts'
import { createFlowRunner } from '../../../src/workbench/explore/run/flow-runner.ts'

test.each<[name: string, work: () => Promise<unknown>]>([
  ['a computation of the thread pool', () => promisify(pbkdf2)('a', 'b', 500_000, 32, 'sha512')],
  ['compressed data', () => promisify(gzip)(randomBytes(8_000_000))],
  ['a child process', () => promisify(execFile)(process.execPath, ['-e', 'setTimeout(() => {}, 400)'])],
  ['a thread', () => new Promise(end => new Worker('setTimeout(() => {}, 400)', { eval: true }).once('exit', end))],
])('a flow that waits for %s goes on, and no time of the world passes', async (_, work) => {
  const flow: FlowFunction = async ({ sleep, sim }) => {
    await work()
    await sleep(1_000)
    await work()
    await sim.clock.sleep(1_000)
    await work()
  }
  const runner = createFlowRunner({ name: 'flow', options: { fixtures: 'empty' }, run: flow })
  expect(await runner.run([])).toMatchObject({ end: 'returned', duration: 2_000_000 })
})
