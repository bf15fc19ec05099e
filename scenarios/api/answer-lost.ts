import { Refusal, scenario } from 'modelhost-sim/scenario'

const wanted = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const

export default scenario(
  'a deployment is created, but the answer is lost',
  {
    fixtures: 'two-nodes',
    seed: 71,
    tags: ['deployments', 'faults', 'wire'],
    teaches:
      'A create whose connection breaks may have been done. The same create again is 409, and the first one costs money.',
    client: 'After a lost answer and after a 409, looks for the name, and uses the deployment that it finds.',
  },
  async ({ api, clock, faults, check, countOf }) => {
    await faults.add({ on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } })
    const statuses: (number | string)[] = []
    const ensure = async (): Promise<{ deploy_id: string }> => {
      try {
        return await api.createLlmDeployment(wanted)
      } catch (error) {
        statuses.push(error instanceof Refusal ? error.status : 'broken')
        const found = (await api.listDeployments()).find(({ model_name }) => model_name === wanted.model_name)
        return found ?? ensure()
      }
    }
    const made = await ensure()
    const same = await ensure()
    check(statuses, ['broken', 409])
    check(same.deploy_id, made.deploy_id)
    await countOf('deployment.created', 1, 'one, whatever the client sent')
    await clock.until(async () => (await api.getDeployment(made)).status === 'running', { within: '30m' })
  },
)
