import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  PROCESS_METRICS,
  REQUEST_METRICS,
  SIMULATOR_METRICS,
} from '../../src/server/control/endpoints/simulator-metrics.ts'
import { ENGINE_METRICS } from '../../src/server/control/metrics/engine-metrics.ts'
import { GPU_METRICS } from '../../src/server/control/metrics/gpu-metrics.ts'
import { DEPLOYMENT_METRICS, EVENT_METRICS, WORLD_METRICS } from '../../src/server/control/metrics/world-metrics.ts'
import { commanded } from '../cli/commanded.ts'
import { running } from '../server/http/running-server.ts'
import { parseExposition } from '../simulation/metrics/exposition-parser.ts'

const PAGE = readFileSync('docs/metrics.md', 'utf8')

test('docs/metrics.md lists every metric with its type, and no other', () => {
  const listed = [...PAGE.matchAll(/^\| `([\w:]+)` \| (gauge|counter|histogram|info) \|/gm)].map(([, name, type]) => ({
    name,
    type,
  }))
  const tables = [
    ...[ENGINE_METRICS, GPU_METRICS, DEPLOYMENT_METRICS],
    ...[SIMULATOR_METRICS, REQUEST_METRICS, PROCESS_METRICS, WORLD_METRICS, EVENT_METRICS],
  ]
  expect(listed).toEqual(tables.flatMap(({ metrics }) => metrics.map(({ name, type }) => ({ name, type }))))
})

test('the command of the page writes the metric of its alert rule', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'metrics-page-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [line] = /^npx modelhost-sim simulate .*$/m.exec(PAGE)!
  const file = join(folder, 'day.txt')
  const args = line
    .replace(/^npx modelhost-sim /, '')
    .replace('--for 1d', '--for 10m')
    .replace('day.txt', file)
    .replaceAll("'", '')
    .split(' ')
  expect((await commanded(args)).code).toBe(0)
  const families = parseExposition(readFileSync(file, 'utf8'), 'openmetrics')
  const [, metric = ''] = /expr: sum by \(\w+\) \(([\w:]+)\)/.exec(PAGE)!
  expect(families.get(metric)!.samples[0]!.labels).toHaveProperty('deploy_id')
})

test('the configuration for Prometheus names the address of the page, which answers', async () => {
  const [, yaml = ''] = /```yaml\n(scrape_configs[\s\S]*?)```/.exec(PAGE)!
  const path = /metrics_path: (\S+)/.exec(yaml)![1]!
  const target = /targets: \['([^']*)'\]/.exec(yaml)![1]!
  const [line] = /^curl .*$/m.exec(PAGE)!
  expect(line).toBe(`curl ${target}${path}`)
  const { ask } = await running({ fixtures: 'empty' })
  expect((await ask(path)).status).toBe(200)
})
