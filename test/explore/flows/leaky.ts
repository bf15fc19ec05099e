/** Creates a deployment and looks at it once. An answer that is lost leaves it behind. */
import type { FlowContext } from '../../../src/explore/flow.ts'

export default async function leaky({ fetch, url, token, sleep }: FlowContext): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  const response = await fetch(`${url}/deploy/llm`, { method: 'POST', headers, body })
  if (!response.ok) throw new Error(`status ${response.status}`)
  const { deploy_id } = (await response.json()) as { deploy_id: string }
  await sleep(60_000)
  await fetch(`${url}/deploy/${deploy_id}`, { headers })
  return deploy_id
}
