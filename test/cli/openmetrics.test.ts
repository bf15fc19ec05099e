import { readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { simulate } from '../../src/cli/commands/simulate.ts'
import { HOUR, MINUTE } from '../../src/kernel/duration.ts'
import { commandOutput } from './command-output.ts'
import { commanded } from './commanded.ts'
import { EPOCH, folder, recorded } from './recorded-metrics.ts'

test('an OpenMetrics file shows a node loss: its engines and GPUs end, and the XID of a failed GPU stays', async () => {
  const commands = join(folder(), 'commands.json')
  writeFileSync(
    commands,
    JSON.stringify([
      { at: '10m', verb: 'node.crash', target: 'h100-a-1' },
      { at: '5m', verb: 'gpu.fail', target: 'h100-a-2/0', args: { xid: 79 } },
    ]),
  )
  const families = await recorded({
    commands,
    for: 30 * MINUTE,
    metrics: 'vllm:num_requests_running,DCGM_FI_DEV_XID_ERRORS,modelhost_sim_events',
  })
  expect([...families.keys()]).toEqual(['modelhost_sim_events', 'vllm:num_requests_running', 'DCGM_FI_DEV_XID_ERRORS'])
  const times = (name: string, label: string, value: string) =>
    families
      .get(name)!
      .samples.filter(({ labels }) => labels[label] === value)
      .map(({ time }) => time! - EPOCH)
  // The crash is at 10 min, so the point of that time shows it.
  expect(Math.max(...times('DCGM_FI_DEV_XID_ERRORS', 'Hostname', 'h100-a-1'))).toBe(9 * 60)
  expect(Math.max(...times('vllm:num_requests_running', 'node', 'h100-a-1'))).toBe(9 * 60)
  const failed = families
    .get('DCGM_FI_DEV_XID_ERRORS')!
    .samples.filter(({ labels }) => labels.Hostname === 'h100-a-2' && labels.gpu === '0')
  expect(failed.map(({ value }) => value)).toEqual([...Array(5).fill(0), ...Array(26).fill(79)])
  const crashes = families.get('modelhost_sim_events')!.samples.filter(({ labels }) => labels.kind === 'node.crashed')
  expect(crashes[0]).toMatchObject({ value: 1, time: EPOCH + 600 })
})

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
