import { scenario } from 'modelhost-sim/scenario'

const FINAL = ['running', 'failed', 'stopped', 'deleted']

export default scenario(
  'a newer service answers with a status that the client does not know',
  {
    fixtures: 'two-nodes',
    seed: 77,
    tags: ['deployments', 'faults', 'wire'],
    teaches: 'Services grow: a status may come that no document lists, and it says nothing about success or failure.',
    client: 'Continues to wait while the status is not a known terminal status, with its own deadline.',
  },
  async ({ api, clock, faults, check }) => {
    const wanted = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
    const made = await api.createLlmDeployment(wanted)
    const drift = { kind: 'drift', change: 'unlistedValue', field: 'status' } as const
    await faults.add({ name: 'newer', on: 'getDeployment', until: '2m', fault: drift })

    const strange = (await api.getDeployment(made)).status as string
    check(['initializing', 'downloading', 'deploying', ...FINAL].includes(strange), false)
    const seen = new Set<string>()
    let waited = 0
    for (let status = strange; !FINAL.includes(status) && waited < 60; waited++) {
      seen.add(status)
      await clock.advance('30s')
      status = (await api.getDeployment(made)).status
    }
    check(await api.getDeployment(made), { status: 'running' })
    check(seen.has(strange), true, 'waited over')
    check((await faults.get('newer')).hits > 1, true)
  },
)
