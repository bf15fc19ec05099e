import { Refusal, scenario } from 'modelhost-sim/scenario'

const model = 'acme/chat'
const ask = (text: string) => ({ model, messages: [{ role: 'user' as const, content: text }] })

export default scenario(
  'a deployment is stopped while chats wait for it to wake',
  {
    fixtures: 'empty',
    seed: 113,
    with: { deployments: [{ model_name: model, settings: { min_instances: 0, max_instances: 1 } }] },
    tags: ['inference', 'deployments'],
    teaches:
      'A request that waits for an instance is answered 503 as soon as no instance will come, not after a timeout.',
    client: 'Treats a 503 that says stopped as final. Asks the owner of the deployment, and does not repeat the chat.',
  },
  async ({ api, clock, at, check, expectRefusal, countOf }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    const running = async () => (await api.getDeployment({ deploy_id })).instances?.running
    await clock.until(async () => (await running()) === 0, { within: '10m' })

    const asked = clock.elapsed
    at('10s', () => api.stopDeployment({ deploy_id }), 'its owner stops it')
    const waiting = ['One', 'Two', 'Three'].map(text =>
      api.createChatCompletion(ask(text)).catch((error: unknown) => error),
    )
    await clock.advance('30s')
    for (const answer of await Promise.all(waiting)) {
      check(answer instanceof Refusal && answer.status, 503)
      check(answer, { body: { error: { message: /is stopped, not running/ } } })
    }
    check(clock.elapsed - asked, 30_000_000)
    await countOf('inference.turnedAway', 3)
    await expectRefusal(api.createChatCompletion(ask('Four')), 404, /does not exist/)
  },
)
