import { jsonLines, scenario } from 'modelhost-sim/scenario'

const model = 'acme/chat'
const url = '/v1/completions'
const line = (n: number) =>
  JSON.stringify({ custom_id: `q-${n}`, method: 'POST', url, body: { model, prompt: 'A story.', max_tokens: 20 } })

export default scenario(
  'a batch is cancelled when its last line is done',
  {
    fixtures: 'empty',
    seed: 32,
    with: { deployments: [{ model_name: model }] },
    tags: ['batches'],
    teaches:
      'A batch near its end still completes after a cancel, with cancelling_at. One that has ended refuses it with 400.',
    client: 'After a cancel, waits for the final status. If it is completed, reads the output.',
  },
  async ({ api, clock, check, expectRefusal, countOf }) => {
    const file = [1, 2, 3].map(line).join('\n')
    const upload = await api.uploadFile({ purpose: 'batch', file })
    const { id } = await api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h' })
    const batch = () => api.getBatch({ batch_id: id })
    await clock.until(async () => (await batch()).status === 'finalizing', { within: '10m' })

    await api.cancelBatch({ batch_id: id })
    await clock.until(async () => /completed|cancelled/.test((await batch()).status), { within: '10m' })
    check(await batch(), { status: 'completed', request_counts: { completed: 3 }, cancelled_at: null })
    await countOf('batch.cancelled', 0)
    const output = jsonLines(await api.getFileContent({ file_id: (await batch()).output_file_id! }))
    check(output.map(one => one.custom_id).sort(), ['q-1', 'q-2', 'q-3'])
    await expectRefusal(api.cancelBatch({ batch_id: id }), 400, 'completed already')
  },
)
