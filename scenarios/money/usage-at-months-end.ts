import { jsonLines, scenario } from 'modelhost-sim/scenario'

const model = 'aurora-labs/aurora-8b-instruct'
const url = '/v1/completions'
const line = (n: number) =>
  JSON.stringify({ custom_id: `q-${n}`, method: 'POST', url, body: { model, prompt: 'A story.', max_tokens: 200 } })
const seconds = (iso: string) => Date.parse(iso) / 1000

export default scenario(
  'a month ends in the middle of a rent, and its usage is what the ledger says',
  {
    fixtures: 'empty',
    seed: 45,
    epoch: '2026-01-30T12:00:00Z',
    with: { deployments: [{ model_name: 'acme/chat' }] },
    tags: ['money'],
    teaches:
      'A month is invoiced by UTC and final once it is over; what runs across its end is cut there, to the cent.',
    client: 'Adds items up by name, compares the sum with its own count of GPU-hours, and waits for invoice_id first.',
  },
  async ({ api, clock, cluster, ledger, check }) => {
    const upload = await api.uploadFile({ purpose: 'batch', file: [1, 2, 3].map(line).join('\n') })
    const { id } = await api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h' })
    await clock.advanceTo('2026-01-31T12:00:00Z')
    check(jsonLines(await api.getFileContent({ file_id: `${id}_output` })).length, 3)
    await cluster.price.set('H100-80GB', 240)
    check((await api.getUsage()).months, [{ period: '2026.01', invoice_id: null }], 'the month is not over')

    await clock.advanceTo('2026-02-02T00:00:00Z')
    const { months, initial_month } = await api.getUsage({ from: 'current-1' })
    check(initial_month, '2026.01')
    check(months, [
      { period: '2026.01', invoice_id: /^invoice_/ },
      { period: '2026.02', invoice_id: null },
    ])
    const [january, february] = months
    check(january!.items, [
      { type: 'rent', name: 'acme/chat', gpu_hours: 36, cost: 24 * 220 + 12 * 240 },
      { type: 'tokens', id, name: model },
    ])
    check(february!.items, [{ type: 'rent', name: 'acme/chat', gpu_hours: 24, cost: 24 * 240 }])

    const entries = await ledger.entries()
    const spent = entries.reduce((sum, { microcents }) => sum + Math.max(0, -microcents), 0)
    const counted = Math.round((january!.total_cost + february!.total_cost) * 1_000_000)
    check(counted, spent, 'the months are the ledger, to the micro-cent')
    const from = seconds('2026-02-01T00:00:00Z')
    check((await api.getUsage({ from, to: from + 3600 })).months, [{ period: '2026.02', total_cost: 240 }])
  },
)
