/**
 * Deploys models, and waits until they run. The pause between two polls grows from five seconds to a minute.
 * The client survives the failure of any single request.
 */

const RETRIES = 7
const ENDED = ['deleted', 'failed', 'stopped']

export function deployClient({
  url,
  token,
  fetch = globalThis.fetch,
  timeout = () => AbortSignal.timeout(30_000),
  sleep = ms => new Promise(wake => setTimeout(wake, ms)),
}) {
  async function send(method, path, body) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const init = { method, headers, signal: timeout(), ...(body && { body: JSON.stringify(body) }) }
    const response = await fetch(`${url}${path}`, init)
    const text = await response.text()
    if (response.ok) return JSON.parse(text)
    const error = new Error(`${method} ${path}: ${response.status} ${text}`)
    throw Object.assign(error, { status: response.status, retryAfter: Number(response.headers.get('retry-after')) })
  }

  /** Runs a step again while its error is one that passes: a broken connection, an unreadable answer, 408, 429, 5xx. */
  async function retry(step, alsoRetried = []) {
    for (let attempt = 0; ; attempt++) {
      try {
        return await step()
      } catch (error) {
        const { status } = error
        const canPass = status === undefined || status >= 500 || [408, 429, ...alsoRetried].includes(status)
        if (!canPass || attempt === RETRIES) throw error
        await sleep(Math.max((error.retryAfter || 0) * 1000, 1000 * 2 ** attempt))
      }
    }
  }

  /** Looks before each create: after a failed one, the service may have done the work and lost its answer. */
  function findOrCreate(model) {
    const step = async () => {
      const listed = await send('GET', '/deploy/list')
      const found = listed.find(({ model_name, status }) => model_name === model.model_name && !ENDED.includes(status))
      return found ?? send('POST', '/deploy/llm', model)
    }
    return retry(step, [409])
  }

  /** Deletes a deployment. If a request whose answer was lost deleted it already, this is not an error. */
  async function remove(deploy_id) {
    try {
      await retry(() => send('DELETE', `/deploy/${deploy_id}`))
    } catch (error) {
      if (error.status !== 404) throw error
    }
  }

  return {
    /** Resolves when the model runs. If it does not run in time, its deployment is deleted, so that it costs nothing. */
    async deploy(model, { giveUpAfterMs = 3_600_000 } = {}) {
      const began = Date.now()
      const { deploy_id } = await findOrCreate(model)
      try {
        for (let wait = 5_000; ; wait = Math.min(60_000, wait * 1.5)) {
          const { status, fail_reason } = await retry(() => send('GET', `/deploy/${deploy_id}`))
          if (status === 'running') return { deploy_id, tookMs: Date.now() - began }
          if (ENDED.includes(status)) throw new Error(`${model.model_name} is ${status}: ${fail_reason}`)
          if (Date.now() - began >= giveUpAfterMs) break
          await sleep(wait)
        }
        throw new Error(`${model.model_name} does not run after ${giveUpAfterMs / 60_000} minutes`)
      } catch (error) {
        await remove(deploy_id)
        throw error
      }
    },
  }
}
