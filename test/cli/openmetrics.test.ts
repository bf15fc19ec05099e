import { readdirSync, statSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { simulate } from '../../src/cli/commands/simulate.ts'
import { HOUR, MINUTE } from '../../src/kernel/duration.ts'
import { commandOutput } from './command-output.ts'
import { commanded } from './commanded.ts'
import { folder } from './recorded-metrics.ts'

test('the simulation does the same with and without an OpenMetrics file', async () => {
  const { written, output } = commandOutput()
  const { written: plain, output: plainOutput } = commandOutput()
  const args = { fixtures: 'fleet', profile: 'realistic', seed: '3', for: HOUR, json: true }
  await simulate({ ...args, openmetrics: join(folder(), 'x.txt'), metrics: 'vllm:num_*', step: 7 * MINUTE }, output)
  await simulate(args, plainOutput)
  expect(written.out).toBe(plain.out)
})

test('no file is left when the disk is full', async () => {
  const path = folder()
  const openmetrics = join(path, 'x.txt')
  // A write to it fails with the error of a full disk.
  symlinkSync('/dev/full', `${openmetrics}.${process.pid}.tmp`)
  const args = { fixtures: 'two-nodes', profile: 'realistic', seed: '1', for: HOUR, openmetrics }
  await expect(simulate(args, commandOutput().output)).rejects.toThrow(
    `Failed to write --openmetrics '${openmetrics}': no space is left on the disk. Free some space, or give a file elsewhere.`,
  )
  expect(readdirSync(path)).toEqual([])
})

test.each([
  [['--openmetrics', 'no/such/x.txt'], "Failed to write --openmetrics 'no/such/x.txt': there is no folder"],
  [['--openmetrics', 'src'], "Failed to write --openmetrics 'src': it is a folder. Give a file in it."],
  [['--openmetrics', ''], "Failed to write --openmetrics '': the path is empty. Give the path of a file."],
  [['--openmetrics', 'package.json/x/y'], "'package.json/x/y': its parent is not a folder. Give a file elsewhere."],
  [['--openmetrics', 'x'.repeat(300)], 'its name is too long. Give a file elsewhere.'],
  [['--openmetrics', 'x'.repeat(250)], 'its name is too long. Free some space, or give a file elsewhere.'],
  [['--openmetrics', 'x.txt', '--series', './x.txt'], "--series and --openmetrics name the same file './x.txt'."],
  [['--metrics', 'vllm:*'], 'Failed to simulate: --metrics needs --openmetrics.'],
  [
    ['--openmetrics', 'x.txt', '--metrics', 'vllm:num_request_running'],
    "Failed to read --metrics: 'vllm:num_request_running' selects no metric. Did you mean 'vllm:num_requests_running'?",
  ],
  [['--openmetrics', 'x.txt', '--step', '1ms'], 'samples, and 100,000,000 are the most. Give a longer --step'],
])('simulate --for 1h %j is refused, and no file is left', async (args, message) => {
  const { code, stdout, stderr } = await commanded(['simulate', '--for', '1h', ...args])
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(message)
  expect(readdirSync('.').filter(name => name.startsWith('x.txt'))).toEqual([])
})

test('a socket or a link without an end is refused, and stays as it is', async () => {
  const path = folder()
  const [socket, loop] = [join(path, 'socket'), join(path, 'loop')]
  const server = createServer()
  await new Promise<void>(resolve => server.listen(socket, resolve))
  onTestFinished(() => void server.close())
  symlinkSync(loop, loop)
  const args = { fixtures: 'two-nodes', profile: 'realistic', seed: '1', for: HOUR }
  const write = (openmetrics: string) => simulate({ ...args, openmetrics }, commandOutput().output)
  await expect(write(socket)).rejects.toThrow('it is a device, a socket or a pipe. Give a file.')
  await expect(write(loop)).rejects.toThrow('its links lead in a circle. Give a file elsewhere.')
  expect([statSync(socket).isSocket(), readdirSync(path).sort()]).toEqual([true, ['loop', 'socket']])
})
