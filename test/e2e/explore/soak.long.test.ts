/** `npm run soak -- shards` with few seeds: processes with shards, one of which is killed, give what one process gives. */
import { spawn } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BIN } from '../cli/process.ts'
import { installed } from '../installed-package.ts'

const SOAK = ['--conditions=modelhost-sim-source', '--import', 'tsx', 'tools/soak/main.ts']

function soak(...args: readonly string[]): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, [...SOAK, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', text => {
      said += text
    })
  }
  return new Promise(resolve => child.on('close', code => resolve({ code, said })))
}

test('a killed shard is completed, and the merge equals that of one process', async () => {
  // The built package starts sooner than the source. A flow beside it imports the same package.
  const flow = join(installed(), 'leaky.ts')
  cpSync('test/workbench/explore/flows/leaky.ts', flow)
  const { code, said } = await soak(
    ...['shards', '--seeds', '150', '--processes', '3', '--program', BIN, '--flow', flow],
  )
  expect(said).toMatch(/^soak: shard 2 was killed after \d+ of its 50 seeds$/m)
  expect(said).toMatch(/^soak: the merge ended with 3, and missed \d+ seeds$/m)
  const digests = Array.from(said.matchAll(/150 seeds, .* digest (\w{16})$/gm), ([, digest]) => digest)
  expect(digests).toEqual([expect.any(String), digests[0]])
  expect(said).toMatch(/^soak: passed$/m)
  expect(code).toBe(0)
}, 300_000)

test('an unknown soak and a number that is too small are refused', async () => {
  const [unknown, few] = await Promise.all([soak('shard'), soak('shards', '--processes', '1')])
  expect(unknown).toEqual({ code: 2, said: expect.stringContaining("Failed to soak: 'shard' is unknown. Usage: ") })
  expect(few.code).toBe(1)
  expect(few.said).toContain("Failed to soak: --processes is '1'. Give a whole number of at least 2.")
})
