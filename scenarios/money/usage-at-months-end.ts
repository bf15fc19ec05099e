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
    client:
      'Adds items up by name, compares the sum with its own count of GPU-hours, and waits until invoice_id is no longer NOT_FINAL.',
  },
  async ({ api, clock, cluster, ledger, check }) => {
    const upload = await api.uploadFile({ purpose: 'batch', file: [1, 2, 3].map(line).join('\n') })
    const { id } = await api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h' })
    await clock.advanceTo('2026-01-31T12:00:00Z')
    const { output_file_id } = await api.getBatch({ batch_id: id })
    check(jsonLines(await api.getFileContent({ file_id: output_file_id! })).length, 3)
    await cluster.price.set('H100-80GB', 240)
    check(
      (await api.getUsage({ from: 'current' })).months,
      [{ period: '2026.01', invoice_id: 'NOT_FINAL' }],
      'the month is not over',
    )

    await clock.advanceTo('2026-02-02T00:00:00Z')
    const { months, initial_month } = await api.getUsage({ from: 'current-1' })
    check(initial_month, '2025.11')
    check(months, [{ period: '2026.01', invoice_id: /^invoice_/ }])
    const [january] = months
    const [february] = (await api.getUsage({ from: 'current' })).months
    check(february!.invoice_id, 'NOT_FINAL')
    check(january!.items, [
      { model: { model_name: 'acme/chat' }, pricing_type: 'uptime', units: 36 * 3600, cost: 24 * 220 + 12 * 240 },
      { model: { model_name: model }, pricing_type: 'tokens', cost: 0 },
    ])
    check(february!.items, [{ model: { model_name: 'acme/chat' }, units: 24 * 3600, cost: 24 * 240 }])

    const entries = await ledger.entries()
    const spent = entries.reduce((sum, { microcents }) => sum + Math.max(0, -microcents), 0)
    const counted = january!.total_cost + february!.total_cost
    check(counted, Math.floor(spent / 1_000_000), 'the months are the ledger, in whole cents')
    const from = seconds('2026-02-01T00:00:00Z')
    check((await api.getUsage({ from, to: from + 3600 })).months, [{ period: '2026.02', total_cost: 240 }])
  },
)
