import { Refusal, scenario } from 'modelhost-sim/scenario'

const model = 'acme/chat'
const LIMIT = 200
const PAGES = 210

export default scenario(
  '210 chats are sent at once, and those over the limit of 200 in flight are asked to come again',
  {
    fixtures: 'two-nodes',
    seed: 115,
    inferencePace: 'clock',
    with: { deployments: [{ model_name: model, settings: { min_instances: 3, max_instances: 3 } }] },
    tags: ['inference', 'quota'],
    teaches:
      'A token may have 200 requests in flight with a model, also if the instances could take more. The others are 429 with Retry-After, and no figure counts them.',
    client: 'Keeps to Retry-After and loses nothing; better, it has a pool of fewer than 200 and is never refused.',
  },
  async ({ api, clock, check, countOf }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    const other = await api.createApiToken({ name: 'other' })
    const ask = (client: typeof api, page: number) =>
      client.createChatCompletion({ model, messages: [{ role: 'user', content: `Sum up page ${page}.` }] })

    const refused: { page: number; at: number; error: Refusal }[] = []
    const patiently = async (page: number): ReturnType<typeof ask> => {
      try {
        return await ask(api, page)
      } catch (error) {
        if (!(error instanceof Refusal) || error.status !== 429) throw error
        refused.push({ page, at: clock.elapsed, error })
        await clock.sleep(`${error.headers.get('retry-after')}s`)
        return patiently(page)
      }
    }
    const began = clock.elapsed
    const all = Array.from({ length: PAGES }, (_, page) => patiently(page))
    // The limit of this token does not apply to another token.
    const elsewhere = ask(api.as(other.token), PAGES)
    await clock.advance('1m')
    const answers = await Promise.all(all)
    check(await elsewhere, { choices: [{ finish_reason: 'stop' }] })

    const atOnce = refused.filter(({ at }) => at === began)
    check(
      atOnce.map(({ page }) => page),
      Array.from({ length: PAGES - LIMIT }, (_, nth) => LIMIT + nth),
      'the last ten, in the moment in which they came',
    )
    check(atOnce[0]!.error.body, {
      error: { message: /^200 requests to acme\/chat are in flight with this token$/, code: 'engine_overloaded' },
    })
    check(
      refused.every(({ error }) => error.headers.get('retry-after') === '1'),
      true,
    )
    check(new Set(answers.map(({ id }) => id)).size, PAGES, 'an answer for each')
    await countOf('inference.served', PAGES + 1)
    await countOf('inference.queued', 0, 'the instances had room for all')
    check(await api.getDeploymentStats({ deploy_id, from: 'now-1h' }), { requests: PAGES + 1, errors: 0 })
  },
)
