import { Refusal, scenario } from 'modelhost-sim/scenario'

const model = 'acme/chat'
const url = '/v1/completions'
const file = JSON.stringify({
  custom_id: 'q',
  method: 'POST',
  url,
  body: { model, prompt: 'A story.', max_tokens: 20 },
})

export default scenario(
  'one batch more than the account may have under way',
  {
    fixtures: 'empty',
    seed: 36,
    with: { deployments: [{ model_name: model }] },
    profile: { limits: { batches_under_way: 2 } },
    tags: ['batches', 'limits'],
    teaches: 'Batches under way are counted, and one more is 429 with Retry-After: it makes nothing.',
    client: 'Waits as long as Retry-After says and sends the same create again; the file is there already.',
  },
  async ({ api, clock, check, expectRefusal, unchanged, countOf }) => {
    const upload = await api.uploadFile({ purpose: 'batch', file })
    const create = () => api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h' })
    await create()
    await create()
    const refusal = await unchanged(() => expectRefusal(create(), 429, 'under way'))
    check(refusal.headers.get('retry-after'), '60')

    const patiently = async (): Promise<{ id: string }> => {
      try {
        return await create()
      } catch (error) {
        if (!(error instanceof Refusal) || error.status !== 429) throw error
        await clock.advance(`${Number(error.headers.get('retry-after'))}s`)
        return patiently()
      }
    }
    const third = await patiently()
    await countOf('batch.created', 3)
    await clock.until(async () => (await api.getBatch({ batch_id: third.id })).status === 'completed', { within: '1h' })
  },
)
