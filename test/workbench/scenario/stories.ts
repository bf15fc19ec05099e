/** The text of a scenario that passes. */
export const STORY = `
import { scenario } from 'modelhost-sim/scenario'
export default scenario('a deployment starts', { fixtures: 'two-nodes', seed: 7, tags: ['quick'] }, async ({ api, clock, check }) => {
  const { deploy_id } = await api.createLlmDeployment({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  await clock.advance('20m')
  check(await api.getDeployment({ deploy_id }), { status: 'running' })
})
`
/** The text of a scenario that fails. */
export const BROKEN = STORY.replace("'20m'", "'20s'").replace('a deployment starts', 'a deployment starts too fast')
