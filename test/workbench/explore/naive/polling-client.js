/** Deploys models, and waits until they run: at first five seconds between two looks, a minute in the end. */
export function deployClient({ url, token, fetch = globalThis.fetch }) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

  async function call(method, path, body) {
    const response = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    if (response.ok) return response.json()
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  }

  return {
    async deploy(model, { giveUpAfterMs = 3_600_000 } = {}) {
      const began = Date.now()
      const { deploy_id } = await call('POST', '/deploy/llm', model)
      for (let wait = 5_000; ; wait = Math.min(60_000, wait * 1.5)) {
        const { status, fail_reason } = await call('GET', `/deploy/${deploy_id}`)
        if (status === 'running') return { deploy_id, tookMs: Date.now() - began }
        if (status === 'failed') throw new Error(`${model.model_name} failed: ${fail_reason}`)
        if (Date.now() - began >= giveUpAfterMs) break
        await new Promise(wake => setTimeout(wake, wait))
      }
      await call('DELETE', `/deploy/${deploy_id}`)
      throw new Error(`${model.model_name} does not run after ${giveUpAfterMs / 60_000} minutes`)
    },
  }
}
