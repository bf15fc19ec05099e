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
    const duplicates = mine.filter(({ id }) => id !== made.id)
    for (const { id } of duplicates) await api.cancelBatch({ batch_id: id })
    // Which of the two ends first depends on the seed.
    const statusOf = async (id: string) => (await api.getBatch({ batch_id: id })).status
    await clock.until(async () => (await statusOf(made.id)) === 'completed', { within: '1h' })
    for (const { id } of duplicates)
      await clock.until(async () => (await statusOf(id)) === 'cancelled', { within: '1h' })
    await countOf('batch.completed', 1)
    await countOf('batch.cancelled', 1)
  },
)
