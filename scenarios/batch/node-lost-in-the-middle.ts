import { jsonLines, scenario } from 'modelhost-sim/scenario'

const model = 'acme/chat'
const url = '/v1/completions'
const ids = Array.from({ length: 60 }, (_, n) => `story-${n}`)
const line = (custom_id: string) =>
  JSON.stringify({ custom_id, method: 'POST', url, body: { model, prompt: `Tell me ${custom_id}.` } })

export default scenario(
  'a node dies under a batch, and what was in work is run again',
  {
    fixtures: 'empty',
    seed: 39,
    with: { deployments: [{ model_name: model }] },
    tags: ['batches', 'faults'],
    teaches:
      'Lines in work on a lost instance are run again; what was finished is kept, and each is in the output once.',
    client: 'Joins results by custom_id, never by their position or by how many there are so far.',
  },
  async ({ api, clock, cluster, check, countOf, always }) => {
    const upload = await api.uploadFile({ purpose: 'batch', file: ids.map(line).join('\n') })
    const { id } = await api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h' })
    const batch = () => api.getBatch({ batch_id: id })
    const done = async () => (await batch()).request_counts?.completed ?? 0
    await clock.until(async () => (await done()) === 20, { within: '10m' })
    always(async () => (await done()) >= 20, 'what is finished stays finished')

    const [deployed] = await api.listDeployments()
    await cluster.nodeOf(deployed!.deploy_id).crash()
    await countOf('batch.linesRetried', 1)
    check(await batch(), { status: 'in_progress', request_counts: { completed: 20 } })
    await clock.until(async () => (await batch()).status === 'completed', { within: '1h' })

    const output = jsonLines(await api.getFileContent({ file_id: (await batch()).output_file_id! }))
    // Rows come in any order: a client finds the answer to a line by its custom_id.
    const answered = new Map(output.map(row => [row.custom_id, row]))
    check(output.length, ids.length, 'as many rows as lines')
    check(ids.filter(id => !answered.has(id)).join(), '', 'lines without a row')
  },
)
