import { Refusal, scenario } from 'modelhost-sim/scenario'

export default scenario(
  'polls are answered 429 for ten minutes, and one client keeps to Retry-After',
  {
    fixtures: 'two-nodes',
    seed: 73,
    tags: ['faults', 'wire'],
    teaches:
      'A client that polls on after 429 gets nothing and prolongs the overload. Retry-After says when to ask again.',
    client:
      'Waits at least as long as Retry-After says, whether in seconds or as a date, and does not count it as failure.',
  },
  async ({ api, clock, faults, check }) => {
    const made = await api.createLlmDeployment({
      model_name: 'acme/chat',
      gpu: 'H100-80GB',
      hub: { repo: 'acme/chat-8b' },
    })
    const inSeconds = { kind: 'rateLimit', retryAfter: '90s' } as const
    await faults.add({ name: 'early', on: 'getDeployment', until: '5m', fault: inSeconds })
    await faults.add({ name: 'late', on: 'getDeployment', until: '10m', fault: { ...inSeconds, as: 'date' } })
    const waitOf = (value: string) =>
      /^\d+$/.test(value) ? Number(value) : Math.ceil((Date.parse(value) - clock.now.getTime()) / 1000)

    let tries = 0
    const patiently = async (): Promise<{ status: string }> => {
      tries++
      try {
        return await api.getDeployment(made)
      } catch (error) {
        if (!(error instanceof Refusal) || error.status !== 429) throw error
        await clock.advance(`${waitOf(error.headers.get('retry-after')!)}s`)
        return patiently()
      }
    }
    check((await patiently()).status, /running|downloading|deploying/)
    check(clock.elapsed >= 600_000_000, true, 'the storm is over')
    check(tries, 8, 'a request every 90 s, and the one that is answered')
    check(await faults.get('early'), { hits: 4 })
    check(await faults.get('late'), { hits: 3 })
  },
)
