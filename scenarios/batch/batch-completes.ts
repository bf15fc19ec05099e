import { jsonLines, scenario } from 'modelhost-sim/scenario'

const model = 'aurora-labs/aurora-8b-instruct'
const url = '/v1/chat/completions'
const line = (custom_id: string, content: string, more = {}) => {
  const messages = [{ role: 'user', content }]
  return JSON.stringify({ custom_id, method: 'POST', url, body: { model, messages, max_tokens: 40, ...more } })
}
const title = 'a batch completes, and the line that asks for a stream is in the error file'

export default scenario(
  title,
  {
    fixtures: 'empty',
    seed: 2,
    tags: ['batches', 'money'],
    teaches:
      'A line that cannot be answered fails alone. Rows have another order than the input: custom_id identifies them.',
    client: 'Reads the output and the error file of every batch, also of one that completed.',
  },
  async props => {
    const { api, clock, ledger, check } = props
    const file = [line('tea', 'How is tea made?'), line('live', 'Hello', { stream: true }), line('rain', 'Why?')].join(
      '\n',
    )
    const upload = await api.uploadFile({ purpose: 'batch', file })
    const { id } = await api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h' })
    const batch = () => api.getBatch({ batch_id: id })
    check(await batch(), { status: 'validating', request_counts: null, output_file_id: null })

    await clock.until(async () => (await batch()).status === 'in_progress', { within: '1m' })
    check(await batch(), { request_counts: { total: 3, completed: 0, failed: 0 } })

    await clock.until(async () => (await batch()).status === 'completed', { within: '30m' })
    check(await batch(), { request_counts: { total: 3, completed: 2, failed: 1 }, errors: null })
    const { output_file_id, error_file_id } = await batch()

    const rows = jsonLines(await api.getFileContent({ file_id: output_file_id! }))
    const [tea, rain] = ['tea', 'rain'].map(name => rows.find(row => row.custom_id === name))
    check(tea, { custom_id: 'tea', error: null, response: { status_code: 200, body: { model } } })
    check(rain, { custom_id: 'rain', error: null, response: { status_code: 200, body: { model } } })
    check(rows.length, 2)
    const errors = jsonLines(await api.getFileContent({ file_id: error_file_id! }))
    check(errors, [{ custom_id: 'live', response: null, error: { code: '500', message: 'internal error' } }])

    const pricing = { cents_per_million_input_tokens: 3, cents_per_million_output_tokens: 6 }
    check((await api.getHardware({ model })).hardware[0], { type: 'serverless', pricing })
    const [one, other] = [tea.response.body.usage, rain.response.body.usage]
    const live = 3 * (one.prompt_tokens + other.prompt_tokens) + 6 * (one.completion_tokens + other.completion_tokens)
    check(await ledger.cost(id), Math.floor(live * 0.8), 'tokens at 80 % of the live price')
  },
)
