/** The OpenMetrics file of a whole fleet. */
import { expect, test } from 'vitest'
import { MINUTE } from '../../src/kernel/duration.ts'
import { EngineReader } from '../../src/simulation/metrics/engine-values.ts'
import { metricsPage } from '../../src/simulation/metrics/metrics-text.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { type ParsedFamily, parseExposition, seriesKey } from '../simulation/metrics/exposition-parser.ts'
import { EPOCH, recorded } from './recorded-metrics.ts'

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
