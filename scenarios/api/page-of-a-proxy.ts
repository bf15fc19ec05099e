import { Refusal, scenario } from 'modelhost-sim/scenario'

export default scenario(
  'a poll is answered with the HTML page of a proxy',
  {
    fixtures: 'two-nodes',
    seed: 79,
    tags: ['faults', 'wire'],
    teaches: 'Proxies between client and service answer in HTML, with 502 or even 200.',
    client: 'Checks status and content type before it parses. After a 5xx or a page, waits longer and asks again.',
  },
  async ({ api, clock, faults, check }) => {
    const wanted = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
    const made = await api.createLlmDeployment(wanted)
    await faults.add({ name: 'gateway', on: 'getDeployment', times: 3, fault: { kind: 'html' } })
    await faults.add({ name: 'portal', on: 'getDeployment', times: 1, fault: { kind: 'html', status: 200 } })

    const waits: number[] = []
    const backingOff = async (wait = 1): Promise<{ status: string }> => {
      const again = async () => {
        waits.push(wait)
        await clock.advance(`${wait}s`)
        return backingOff(wait * 2)
      }
      try {
        const answer = await api.getDeployment(made)
        return typeof answer === 'object' && 'status' in answer ? answer : again()
      } catch (error) {
        if (!(error instanceof Refusal) || error.status < 500) throw error
        return again()
      }
    }
    const { status } = await backingOff()
    // The proxy breaks single polls alone: the list says the same. How far the deployment is depends on the seed.
    const listed = await api.listDeployments()
    check(status, listed.find(one => one.deploy_id === made.deploy_id)!.status)
    check(waits, [1, 2, 4, 8])
  },
)
