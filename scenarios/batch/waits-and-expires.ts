import { jsonLines, scenario } from 'modelhost-sim/scenario'

const model = 'aurora-labs/aurora-8b-instruct'
const url = '/v1/completions'
const file = JSON.stringify({ custom_id: 'tea', method: 'POST', url, body: { model, prompt: 'Tea.', max_tokens: 20 } })
const forever = { batch_wait_shares: { none: 0, short: 0, long: 0, day: 0, forever: 1 } }

export default scenario(
  'a batch waits for shared capacity that never comes',
  {
    fixtures: 'empty',
    seed: 35,
    profile: { weather: { pack: 'incident', packs: { incident: forever } } },
    tags: ['batches', 'money'],
    teaches: 'A batch in progress on shared capacity can stay at zero lines until it expires.',
    client: 'Alerts on a batch without progress hours before expires_at, and has another way for urgent work.',
  },
  async ({ api, clock, ledger, check, countOf }) => {
    const upload = await api.uploadFile({ purpose: 'batch', file })
    const made = await api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h' })
    const batch = () => api.getBatch({ batch_id: made.id })
    await clock.advance('23h')
    check(await batch(), { status: 'in_progress', request_counts: { total: 1, completed: 0, failed: 0 } })
    await countOf('batch.waiting', 1)

    await clock.until(async () => (await batch()).status === 'expired', { within: '2h' })
    check(await batch(), { expired_at: made.expires_at, completed_at: null })
    const errors = jsonLines(await api.getFileContent({ file_id: (await batch()).error_file_id! }))
    check(errors, [{ custom_id: 'tea', error: { code: 'batch_expired' } }])
    check(await ledger.cost(made.id), 0, 'what did not run costs nothing')
  },
)
