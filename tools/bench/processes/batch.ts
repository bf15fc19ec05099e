/** Runs one batch of as many lines as the first argument says and reports it by message. */
import { createSimulator } from 'modelhost-sim'
import type { BatchRun } from '../batch.ts'

const lines = Number(process.argv[2])
const model = 'aurora-labs/aurora-8b-instruct'
const text = 'Summarize the ticket in one sentence, name the product, and say whether the customer is upset: '
const input = Array.from({ length: lines }, (_, i) =>
  JSON.stringify({
    custom_id: `line-${i}`,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model, messages: [{ role: 'user', content: `${text}ticket ${i}.` }], max_tokens: 64 },
  }),
).join('\n')

const sim = createSimulator({ fixtures: 'empty', with: { account: { funds_cents: 1_000_000_000 } } })
const authorization = `Bearer ${sim.token}`
const steps: Record<string, number> = {}
const began = performance.now()
let before = began
const took = (step: string) => {
  const now = performance.now()
  steps[step] = now - before
  before = now
}

const form = new FormData()
form.set('purpose', 'batch')
form.set('file', new Blob([input]), 'in.jsonl')
const file = await json(
  await sim.fetch('http://sim/v1/files', { method: 'POST', headers: { authorization }, body: form }),
)
took('upload')

const created = await json(
  await sim.fetch('http://sim/v1/batches', {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' }),
  }),
)
took('create')

let state = created
while (state.status === 'validating' || state.status === 'in_progress' || state.status === 'finalizing') {
  await sim.clock.advance('1h')
  state = await json(await sim.fetch(`http://sim/v1/batches/${created.id}`, { headers: { authorization } }))
}
took('advance')
if (state.status !== 'completed') throw new Error(`the batch is ${state.status} at ${sim.clock.iso}`)

const output = await sim.fetch(`http://sim/v1/files/${state.output_file_id}/content`, { headers: { authorization } })
const answers = (await output.text()).trimEnd().split('\n').length
took('download')
if (answers !== lines) throw new Error(`${answers} answers to ${lines} lines`)

const run: BatchRun = {
  seconds: (performance.now() - began) / 1000,
  peakMegabytes: process.resourceUsage().maxRSS / 1024,
  steps,
}
process.send?.(run, () => process.disconnect())

async function json(response: Response): Promise<Record<string, string>> {
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  return (await response.json()) as Record<string, string>
}
