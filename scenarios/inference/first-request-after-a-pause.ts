import { scenario } from 'modelhost-sim/scenario'

const model = 'acme/chat'
const ask = { model, messages: [{ role: 'user' as const, content: 'Is anybody there?' }] }

export default scenario(
  'the first chat after a pause waits for a cold start, longer than its client does',
  {
    fixtures: 'empty',
    seed: 111,
    with: { deployments: [{ model_name: model, settings: { min_instances: 0, max_instances: 1 } }] },
    tags: ['inference', 'scaling'],
    teaches:
      'A deployment at zero has the status running and accepts requests. The first chat waits until an instance has started. A client that leaves does not stop the start.',
    client: 'Asks again after its timeout, a few times, instead of giving up: each try finds the start further on.',
  },
  async ({ api, clock, check, countOf }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    const running = async () => (await api.getDeployment({ deploy_id })).instances?.running
    await clock.until(async () => (await running()) === 0, { within: '10m' })
    await clock.advance('8h')
    check(await api.getDeployment({ deploy_id }), { status: 'running', instances: { running: 0 } })

    // What a client does whose timeout is a minute.
    const asked = clock.elapsed
    let tries = 0
    const patiently = async (): ReturnType<typeof api.createChatCompletion> => {
      tries++
      try {
        return await api.createChatCompletion(ask)
      } catch (error) {
        if (!(error as { broken?: boolean }).broken || tries === 10) throw error
        return patiently()
      }
    }
    check(await patiently(), { model, choices: [{ finish_reason: 'stop' }] })
    check(clock.elapsed > asked, true, 'it took a cold start')
    await countOf('deployment.woken', 1, 'one start for all tries')

    const awake = clock.elapsed
    check(await api.createChatCompletion(ask), { model })
    check(clock.elapsed, awake, 'who asks next finds it awake')
  },
)
