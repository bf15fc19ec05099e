/** Clients that use the names of their provider are explored in a world with these names. */
import { expect, test } from 'vitest'
import { explore, flow } from '../../../src/workbench/explore/index.ts'

const names = {
  paths: { hosted: 'machines' },
  values: { running: 'RUNNING', failed: 'FAILED' },
  headers: { 'alt-api-key': 'x-api-key' },
}
const MODEL = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

const client = (isCareful: boolean) =>
  flow(isCareful ? 'careful' : 'careless', { names, fixtures: 'empty' }, async ({ fetch, url, token, sleep }) => {
    const headers = { authorization: `Bearer ${token}` }
    const ask = async (method: string, path: string, body?: unknown) => {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      const answer = await fetch(`${url}${path}`, { method, headers, ...sent, signal: AbortSignal.timeout(30_000) })
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`)
      return await answer.json()
    }
    const { deploy_id } = await ask('POST', '/deploy/llm', MODEL)
    try {
      for (let waited = 0; waited < 3_600; waited += 30) {
        const { status } = await ask('GET', `/deploy/${deploy_id}`)
        if (status === 'RUNNING') return { deploy_id }
        if (status === 'FAILED') throw new Error(`${deploy_id} failed`)
        await sleep(30_000)
      }
      throw new Error(`${deploy_id} does not run`)
    } catch (error) {
      if (!isCareful) throw new Error('no deployment', { cause: undefined })
      throw new Error(`${deploy_id} goes on: ${error}`)
    }
  })

test('a careless client leaks under vendor names, and a client that names the id in its error does not', {
  tags: 'slow',
}, async () => {
  const options = { faults: 'singles', classes: ['status503'] } as const
  const careless = await explore(client(false), options)
  expect(careless.findings.map(({ signature }) => signature)).toContain('cleansUpOnThrow@getDeployment/error')
  const careful = await explore(client(true), options)
  expect(careful.findings.map(({ invariant }) => invariant)).not.toContain('cleansUpOnThrow')
})
