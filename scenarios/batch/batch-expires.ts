import { jsonLines, scenario } from 'modelhost-sim/scenario'

const model = 'acme/chat'
const options = {
  fixtures: 'empty',
  seed: 4,
  with: { deployments: [{ model_name: model }] },
  tags: ['batches'],
  teaches: 'After 24 h a batch expires. Its output file has the finished lines, its error file the rest.',
  client: 'Keeps the output file, and sends only the expired lines again.',
}
const url = '/v1/completions'
const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `story-${from + n}`)
const line = (custom_id: string) =>
  JSON.stringify({ custom_id, method: 'POST', url, body: { model, prompt: `Tell me ${custom_id}.` } })

export default scenario('a batch loses its deployment and expires with what was finished', options, async props => {
  const { api, clock, check } = props
  const upload = await api.uploadFile({ purpose: 'batch', file: ids(0, 200).map(line).join('\n') })
  const batch = await api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h' })
  const now = () => api.getBatch({ batch_id: batch.id })
  await clock.until(async () => (await now()).request_counts?.completed === 50, { within: '5m' })

  const [deployment] = await api.listDeployments()
  await api.stopDeployment(deployment!)
  await clock.advance('23h')
  check(await now(), { status: 'in_progress', output_file_id: null })
  // A draining instance serves what it has and takes no further line of a batch.
  check(await now(), { request_counts: { total: 200, completed: 50, failed: 0 } })

  await clock.until(async () => (await now()).status === 'expired', { within: '1h' })
  check(await now(), { expired_at: batch.expires_at, completed_at: null, errors: null })
  check(await now(), { request_counts: { total: 200, completed: 50, failed: 0 } })

  const { output_file_id, error_file_id } = await now()
  const output = jsonLines(await api.getFileContent({ file_id: output_file_id! }))
  const errors = jsonLines(await api.getFileContent({ file_id: error_file_id! }))
  check(output.length, 50, 'finished')
  const all = [...output, ...errors].map(one => one.custom_id)
  check(all.sort().join(), ids(0, 200).sort().join(), 'each line is in one of the two files')
  check(errors.filter(one => one.response !== null || one.error.code !== 'batch_expired').length, 0)
})
