import { Refusal, scenario } from 'modelhost-sim/scenario'

const model = 'acme/chat'
const [PLACES, QUEUE] = [4, 8]

export default scenario(
  'the queue of a deployment is full, and a client that follows Retry-After gets an answer',
  {
    fixtures: 'two-nodes',
    seed: 116,
    inferencePace: 'clock',
    with: { deployments: [{ model_name: model, max_batch_size: PLACES }] },
    profile: { extends: 'realistic', limits: { queue_per_deployment: QUEUE } },
    tags: ['inference', 'quota'],
    teaches:
      'A request that finds no place waits in turn. If the queue is full, a request is 429 at once. A client that gives up in the queue makes room for the next one.',
    client:
      'Keeps to Retry-After, gives a request that waits a timeout of its own, and adds instances when that is usual.',
  },
  async ({ api, at, clock, fetch, baseUrl, token, check, expectRefusal, countOf }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    const ask = (nth: number) => ({ model, messages: [{ role: 'user' as const, content: `Question ${nth}` }] })

    const refusals: number[] = []
    const order: number[] = []
    const patiently = async (nth: number): Promise<void> => {
      try {
        await api.createChatCompletion(ask(nth))
        order.push(nth)
      } catch (error) {
        if (!(error instanceof Refusal) || error.status !== 429) throw error
        check(error.body, {
          error: { message: `${QUEUE} requests wait for ${model} already`, code: 'engine_overloaded' },
        })
        refusals.push(nth)
        await clock.sleep(`${error.headers.get('retry-after')}s`)
        await patiently(nth)
      }
    }
    const taken = PLACES + QUEUE
    const others = Array.from({ length: taken - 1 }, (_, nth) => patiently(nth))
    const impatient = new AbortController()
    const last = fetch(`${baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(ask(-1)),
      signal: impatient.signal,
    }).catch((error: Error) => error.message)
    const late = [taken, taken + 1].map(patiently)
    const answer = clock
      .sleep('1ms')
      .then(() => expectRefusal(api.createChatCompletion(ask(-2)), 429, /wait for acme\/chat already/))
    at('2ms', () => impatient.abort(new Error('enough')), 'a client in the queue gives up')
    const next = clock.sleep('3ms').then(() => patiently(taken + 2))
    await clock.advance('5m')

    check((await answer).headers.get('retry-after'), '1')
    check(await last, 'enough')
    await countOf('inference.left', 1)
    await Promise.all([...others, ...late, next])
    check(refusals.slice(0, 2), [taken, taken + 1], 'one too many, and another')
    check(refusals.includes(taken + 2), false, 'who comes then takes the turn of the one who left')
    check(order.length, taken + 2)
    check(new Set(order).size, taken + 2, 'each request is answered once')
    check(await api.getDeploymentStats({ deploy_id, from: 'now-1h' }), { requests: taken + 2, errors: 0 })
  },
)
