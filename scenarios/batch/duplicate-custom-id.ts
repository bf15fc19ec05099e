import { jsonLines, scenario } from 'modelhost-sim/scenario'

const model = 'acme/chat'
const url = '/v1/completions'
const line = (custom_id: string) =>
  JSON.stringify({ custom_id, method: 'POST', url, body: { model, prompt: 'Tell me a story.', max_tokens: 20 } })

/** What a file should be asked before it is sent: the ids that stand in it twice. */
const twice = (file: string) => {
  const ids: string[] = jsonLines(file).map(one => one.custom_id)
  return ids.filter((id, n) => ids.indexOf(id) !== n)
}

export default scenario(
  'one custom_id is twice in a file, and the whole batch fails',
  {
    fixtures: 'empty',
    seed: 31,
    with: { deployments: [{ model_name: model }] },
    tags: ['batches'],
    teaches:
      'Some mistakes fail one line and some the whole file: a custom_id twice is one of the latter, reported after create.',
    client: 'Makes ids from its own keys, looks for doubles before the upload, and reads errors of a failed batch.',
  },
  async ({ api, clock, check, countOf }) => {
    const send = async (file: string) => {
      const upload = await api.uploadFile({ purpose: 'batch', file })
      return api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h' })
    }
    const bad = ['a', 'b', 'a'].map(line).join('\n')
    const batch = await send(bad)
    check(batch, { status: 'validating', errors: null }, 'the create says nothing of it')
    await clock.until(async () => (await api.getBatch({ batch_id: batch.id })).status === 'failed', { within: '1m' })
    const failed = await api.getBatch({ batch_id: batch.id })
    check(failed, { request_counts: null, output_file_id: null, error_file_id: null })
    check(failed.errors!.data, [{ code: 'duplicate_custom_id', line: 2 }], 'lines are counted from 0')
    await countOf('batch.progressed', 0, 'not even the good line has run')

    check(twice(bad), ['a'])
    const good = ['a', 'b', 'c'].map(line).join('\n')
    check(twice(good), [])
    const again = await send(good)
    await clock.until(async () => (await api.getBatch({ batch_id: again.id })).status === 'completed', {
      within: '10m',
    })
  },
)
