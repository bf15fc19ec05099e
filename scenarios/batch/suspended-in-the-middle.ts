import { scenario } from 'modelhost-sim/scenario'

const model = 'acme/chat'
const url = '/v1/completions'
const ids = Array.from({ length: 60 }, (_, n) => `story-${n}`)
const line = (custom_id: string) =>
  JSON.stringify({ custom_id, method: 'POST', url, body: { model, prompt: `Tell me ${custom_id}.` } })

export default scenario(
  'the account is suspended in the middle of a batch',
  {
    fixtures: 'empty',
    seed: 34,
    with: { deployments: [{ model_name: model }] },
    profile: { policies: { suspension_grace: '0s' } },
    tags: ['batches', 'money'],
    teaches: 'A suspension stops the deployment under a batch; the batch stays in progress and its 24 hours run on.',
    client: 'Notices that the counts do not change, reads the checklist, and starts the deployment after the resume.',
  },
  async ({ api, clock, cluster, check, expectRefusal }) => {
    const upload = await api.uploadFile({ purpose: 'batch', file: ids.map(line).join('\n') })
    const wanted = { input_file_id: upload.id, endpoint: url, completion_window: '24h' } as const
    const { id } = await api.createBatch(wanted)
    const batch = () => api.getBatch({ batch_id: id })
    const done = async () => (await batch()).request_counts?.completed ?? 0
    await clock.until(async () => (await done()) === 20, { within: '10m' })

    await cluster.account.suspend('overdue-invoices')
    await clock.advance('1m')
    const stood = await done()
    await clock.advance('6h')
    check(await batch(), { status: 'in_progress', request_counts: { completed: stood } })
    check(stood < 60, true, 'it is not done')
    check(await api.getPaymentChecklist(), { suspended: true, suspend_reason: 'overdue-invoices' })
    await expectRefusal(api.createBatch(wanted), 402)

    await cluster.account.resume()
    const [deployed] = await api.listDeployments()
    check(deployed!, { status: 'stopped' }, 'it stays stopped')
    await api.startDeployment(deployed!)
    await clock.until(async () => (await batch()).status === 'completed', { within: '1h' })
    check(await batch(), { request_counts: { total: 60, completed: 60, failed: 0 } })
  },
)
