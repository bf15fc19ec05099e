import { scenario } from 'modelhost-sim/scenario'

const model = 'acme/tone'
const url = '/v1/completions'
const line = (n: number) =>
  JSON.stringify({ custom_id: `q-${n}`, method: 'POST', url, body: { model, prompt: 'A story.', max_tokens: 400 } })

export default scenario(
  'an adapter is deleted under a batch, and the batch waits for another of its name',
  {
    fixtures: 'two-nodes',
    seed: 34,
    with: { deployments: [{ model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' } }] },
    tags: ['batches', 'adapters'],
    teaches: 'A batch only names its model. If the model is deleted, the lines wait until the batch expires.',
    client: 'Cancels batches before it deletes their model, or creates the adapter again under the same name.',
  },
  async ({ api, clock, check, countOf, expectRefusal }) => {
    const source = { type: 'modelhub', modelhub_url: 'https://modelhub.example/acme/tone-8b' } as const
    const adapter = { base_model: 'chat', lora_name: 'tone', source, private: true } as const
    await api.createLora(adapter)
    const running = async () => (await api.getLoraStatus({ lora_name: 'tone' })).status === 'running'
    await clock.until(running, { within: '30m' })

    const file = Array.from({ length: 800 }, (_, n) => line(n)).join('\n')
    const upload = await api.uploadFile({ purpose: 'batch', file })
    const { id } = await api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h' })
    const batch = () => api.getBatch({ batch_id: id })
    await clock.until(async () => ((await batch()).request_counts?.completed ?? 0) >= 50, { within: '10m' })

    await api.deleteLora({ lora_name: 'tone' })
    const { request_counts } = await batch()
    await expectRefusal(api.getLora({ lora_name: 'tone' }), 404)
    check((await api.listLoras()).length, 0)
    await clock.advance('3h')
    check(await batch(), { status: 'in_progress', request_counts: request_counts! }, 'not a line more')

    await api.createLora({ ...adapter, description: 'The same, trained longer.' })
    await clock.until(running, { within: '30m' })
    await clock.until(async () => (await batch()).status === 'completed', { within: '2h' })
    check(await batch(), { request_counts: { completed: 800, failed: 0 } })
    await countOf('adapter.resident', 2)
  },
)
