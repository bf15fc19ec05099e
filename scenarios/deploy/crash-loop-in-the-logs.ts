import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'the logs name the reason of a crash loop minutes before the deployment fails',
  {
    fixtures: 'two-nodes',
    seed: 24,
    tags: ['deployments', 'logs'],
    teaches: 'A start that moves back and forth has said why in its logs after a minute; fail_reason comes much later.',
    client: 'Reads the logs if the status goes backwards, and fixes the cause named by the ERROR lines of the pods.',
  },
  async ({ api, clock, check, countOf }) => {
    const wanted = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
    const wrong = await api.createLlmDeployment({ ...wanted, extra_args: ['--max-modl-len', '4096'] })
    const { deploy_id } = wrong
    const status = async () => (await api.getDeployment({ deploy_id })).status
    await clock.until(async () => (await status()) === 'deploying', { within: '20m' })
    await clock.until(async () => (await status()) === 'initializing', { within: '10m' })

    check(await api.getDeployment({ deploy_id }), { fail_reason: '' }, 'the record says nothing of it yet')
    const { entries } = await api.queryDeploymentLogs({ deploy_id })
    const errors = Object.entries(entries).flatMap(([pod, lines]) => lines.map(([, text]) => `${pod}: ${text}`))
    check(
      errors.filter(line => line.includes('ERROR')),
      [
        `${deploy_id}-0: ERROR engine exited with code 2: unrecognized arguments: --max-modl-len 4096 (did you mean --max-model-len?)`,
      ],
    )

    await api.deleteDeployment({ deploy_id })
    const right = await api.createLlmDeployment({ ...wanted, extra_args: ['--max-model-len', '4096'] })
    await clock.until(async () => (await api.getDeployment(right)).status === 'running', { within: '30m' })
    await countOf('instance.crashed', 1)
    const lines = (await api.queryLogs({ deploy_id: right.deploy_id, limit: 1 })).entries
    check(lines[0]![1], 'INFO status running')
  },
)
