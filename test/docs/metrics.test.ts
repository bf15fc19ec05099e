import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ENGINE_METRICS } from '../../src/server/control/metrics/engine-metrics.ts'
import { GPU_METRICS } from '../../src/server/control/metrics/gpu-metrics.ts'
import {
  DEPLOYMENT_METRICS,
  EVENT_METRICS,
  PROCESS_METRICS,
  REQUEST_METRICS,
  SIMULATOR_METRICS,
  WORLD_METRICS,
} from '../../src/server/control/metrics/world-metrics.ts'
import { running } from '../server/http/running-server.ts'

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
  expect(listed).toEqual(tables.flat().map(({ name, type }) => ({ name, type })))
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
