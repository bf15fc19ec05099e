import { jsonLines, scenario } from 'modelhost-sim/scenario'

const pinned = 'aurora-labs/aurora-v1-7b-chat'
const url = '/v1/completions'
const line = (model: string) =>
  JSON.stringify({ custom_id: 'q', method: 'POST', url, body: { model, prompt: 'A story.', max_tokens: 20 } })

export default scenario(
  'a catalog model is deprecated, and another takes its place',
  {
    fixtures: 'empty',
    seed: 78,
    tags: ['batches', 'catalog'],
    teaches: 'The catalog says when a model was deprecated and its replacement. There is no other warning.',
    client: 'Looks its models up before each run, follows replaced_by to a model that is current, and logs the change.',
  },
  async ({ api, clock, check }) => {
    const catalog = await api.listModels()
    const entry = (name: string) => catalog.find(({ model_name }) => model_name === name)!
    check(entry(pinned).replaced_by, 'aurora-labs/aurora-8b-instruct')
    check(entry(pinned).deprecated! * 1000 < clock.now.getTime(), true, 'deprecated by now')

    const changes: string[] = []
    const current = (name: string): string => {
      const { deprecated, replaced_by } = entry(name)
      if (!deprecated || !replaced_by) return name
      changes.push(`${name} to ${replaced_by}`)
      return current(replaced_by)
    }
    const model = current(pinned)
    check(changes, [`${pinned} to aurora-labs/aurora-8b-instruct`])
    check(current('aurora-labs/aurora-8b-instruct'), 'aurora-labs/aurora-8b-instruct', 'a current one stays')

    const upload = await api.uploadFile({ purpose: 'batch', file: line(model) })
    const { id } = await api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h' })
    await clock.until(async () => (await api.getBatch({ batch_id: id })).status === 'completed', { within: '1h' })
    const { output_file_id } = await api.getBatch({ batch_id: id })
    const [answer] = jsonLines(await api.getFileContent({ file_id: output_file_id! }))
    check(answer, { response: { body: { model: 'aurora-labs/aurora-8b-instruct' } } })
  },
)
