/** Creates a deployment and looks at it once. An answer that is lost leaves it behind. */
import { flow } from 'modelhost-sim/explore'

export default flow('leaky', { fixtures: 'empty' }, async ({ fetch, url, token, sleep }) => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  const response = await fetch(`${url}/deploy/llm`, { method: 'POST', headers, body })
  if (!response.ok) throw new Error(`status ${response.status}`)
  const { deploy_id } = (await response.json()) as { deploy_id: string }
  await sleep(60_000)
  await fetch(`${url}/deploy/${deploy_id}`, { headers })
  return deploy_id
})
