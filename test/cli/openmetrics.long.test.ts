/** The OpenMetrics file of a whole fleet. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MINUTE } from '../../src/kernel/duration.ts'
import { EngineReader } from '../../src/server/control/metrics/engine-values.ts'
import { metricsPage } from '../../src/server/control/metrics/metrics-text.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { type ParsedFamily, parseExposition, seriesKey } from '../simulation/metrics/exposition-parser.ts'
import { EPOCH, folder, recorded } from './recorded-metrics.ts'

function valuesAt(families: Map<string, ParsedFamily>, time: number | undefined): Map<string, number> {
  const samples = [...families.values()].flatMap(family => family.samples)
  return new Map(samples.filter(sample => sample.time === time).map(sample => [seriesKey(sample), sample.value]))
}

test('an OpenMetrics file has at each step what the page had at that time, in strict form', async () => {
  const families = await recorded({
    ...{ for: 20 * MINUTE, step: 10 * MINUTE },
    metrics: 'vllm:num_*,vllm:prompt_tokens,vllm:e2e_*,vllm:request_success,vllm:*_info',
  })
  const sim = createSimulator({ fixtures: 'fleet' })
  for (const minutes of [10, 20]) {
    sim.world.runTo(minutes * MINUTE)
    const page = metricsPage(new EngineReader(sim.world).readAll(), 'openmetrics')
    // The strict parser needs seconds for the histograms of a whole fleet.
    const names = new RegExp(`^(?:# \\w+ )?(?:${[...families.keys()].join('|')})[_ {]`)
    const isSelected = (line: string) => names.test(line)
    const lines = page.split('\n').filter(line => line === '# EOF' || isSelected(line))
    const expected = valuesAt(parseExposition(`${lines.join('\n')}\n`, 'openmetrics'), undefined)
    const written = valuesAt(families, EPOCH + minutes * 60)
    expect([...written.keys()].sort().join('\n')).toBe([...expected.keys()].sort().join('\n'))
    const differing = [...expected].filter(
      ([key, value]) => !(Math.abs(written.get(key)! - value) / Math.max(1, value) < 1e-6),
    )
    expect(differing).toEqual([])
  }
  expect(families.get('vllm:e2e_request_latency_seconds')).toMatchObject({ type: 'histogram', unit: 'seconds' })
})

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
