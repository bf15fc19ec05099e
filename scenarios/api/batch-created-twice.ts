import { scenario } from 'modelhost-sim/scenario'

const model = 'acme/chat'
const url = '/v1/completions'
const file = JSON.stringify({
  custom_id: 'q',
  method: 'POST',
  url,
  body: { model, prompt: 'A story.', max_tokens: 20 },
})

export default scenario(
  'a proxy sends the create of a batch twice',
  {
    fixtures: 'empty',
    seed: 72,
    with: { deployments: [{ model_name: model }] },
    tags: ['batches', 'faults', 'wire'],
    teaches: 'Batches have no names and no idempotency keys: a create that arrives twice makes two, and both run.',
    client: 'Marks each batch in its metadata, lists batches after every create, and cancels duplicates.',
  },
  async ({ api, clock, faults, check, countOf }) => {
    await faults.add({ on: 'createBatch', times: 1, fault: { kind: 'duplicate', answer: 'second' } })
    const upload = await api.uploadFile({ purpose: 'batch', file })
    const metadata = { job: 'nightly-2026-01-01' }
    const made = await api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h', metadata })
    await countOf('batch.created', 2)

    const { data } = await api.listBatches()
    const mine = data.filter(batch => batch.metadata?.job === metadata.job)
    check(mine.length, 2)
    for (const { id } of mine) if (id !== made.id) await api.cancelBatch({ batch_id: id })
    await clock.until(async () => (await api.getBatch({ batch_id: made.id })).status === 'completed', { within: '1h' })
    await countOf('batch.completed', 1)
    await countOf('batch.cancelled', 1)
  },
)
