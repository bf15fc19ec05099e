/**
 * Plays an incident and prints it as a test of alerts.yml for promtool: the series that a scrape each minute gives, and
 * the alerts that must fire. A provider has a bad day, then a GPU breaks, and then its node.
 */
import { readFileSync } from 'node:fs'

const MINUTES = 50
const COMMANDS = {
  10: { verb: 'gpu.fail', target: 'h100-0/3', args: { xid: 79 } },
  15: { verb: 'node.crash', target: 'h100-0' },
  25: { verb: 'node.repair', target: 'h100-0' },
}
const model = { model_name: 'acme/assistant' }
/** The labels of the alerts that fire, by minute and name. Every other alert must be silent at these minutes. */
const FIRING = {
  3: {},
  12: { RequestsFail: {}, GpuFailed: { Hostname: 'h100-0', gpu: '3' } },
  22: { RequestsFail: {}, InstancesMissing: model, FirstTokenIsLate: model, RequestsWait: model },
  48: { RequestsFail: {} },
}

const headers = { 'content-type': 'application/json' }
async function command(path, body) {
  const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
  return answer.json()
}

const rules = readFileSync(new URL('alerts.yml', import.meta.url), 'utf8')
const metrics = new Set(rules.match(/\b(?:modelhost_sim_|vllm:|DCGM_)\w+/g))
const series = new Map()

/** Adds the samples of one scrape. A series without a sample has a gap. */
async function scrape(world, minute) {
  const text = await (await fetch(`${world}/_sim/metrics`)).text()
  for (const [, name, labels, value] of text.matchAll(/^([\w:]+)(\{.*\})? (\S+)$/gm)) {
    if (!metrics.has(name)) continue
    const key = name + (labels ?? '')
    if (!series.has(key)) series.set(key, Array(MINUTES + 1).fill('_'))
    series.get(key)[minute] = value
  }
}

const { base_url, token } = await command(`${process.env.MODELHOST_SIM_URL}/_sim/worlds`, {
  fixtures: 'two-nodes',
  weather: 'provider-incident',
  with: {
    deployments: [
      {
        model_name: 'acme/assistant',
        gpu: 'H100-80GB',
        num_gpus: 2,
        weights: { repo: 'acme/chat-70b' },
        settings: { min_instances: 6, max_instances: 6 },
        load: { kind: 'constant', rps: 35, prompt_tokens: 900, output_tokens: 250 },
      },
    ],
  },
})
const chat = {
  method: 'POST',
  headers: { ...headers, authorization: `Bearer ${token}` },
  body: JSON.stringify({ model: 'acme/assistant', messages: [{ role: 'user', content: 'Hello' }] }),
}
for (let minute = 0; minute <= MINUTES; minute++) {
  await scrape(base_url, minute)
  if (COMMANDS[minute] !== undefined) await command(`${base_url}/_sim/commands`, COMMANDS[minute])
  for (let request = 0; request < 10; request++) {
    // The provider drops some answers, and the metrics count that.
    await fetch(`${base_url}/v1/chat/completions`, chat).catch(() => {})
  }
  await command(`${base_url}/_sim/clock/advance`, { by: '1m' })
}

const NAME = /- alert: (\w+)[\s\S]*?severity: (\w+)[\s\S]*?summary: (.*) \}/g
const alerts = Array.from(rules.matchAll(NAME), ([, name, severity, summary]) => ({ name, severity, summary }))
const expected = Object.entries(FIRING).flatMap(([minute, firing]) =>
  alerts.map(({ name, severity, summary }) => ({
    eval_time: `${minute}m`,
    alertname: name,
    exp_alerts:
      firing[name] === undefined ? [] : [{ exp_labels: { ...firing[name], severity }, exp_annotations: { summary } }],
  })),
)
const input_series = Array.from(series, ([key, values]) => ({ series: key, values: values.join(' ') }))
// JSON is YAML.
console.log(
  JSON.stringify({
    rule_files: ['alerts.yml'],
    evaluation_interval: '1m',
    tests: [{ interval: '1m', input_series, alert_rule_test: expected }],
  }),
)
