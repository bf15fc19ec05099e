/** An hour of mixed traffic: three clients, faults, weather, streams and a batch. */
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { batchFile } from '../../setup/batches.ts'

type Send = (input: string, init?: RequestInit) => Promise<Response>

const SECOND = 1000

/** Plays the hour. The clients only wait for time, so their requests overlap. */
export async function playMixedHour(sim: Simulator, send: Send, base: string): Promise<void> {
  const authorization = `Bearer ${sim.token}`
  const call = async (method: string, path: string, body?: unknown): Promise<Response> => {
    const isForm = body instanceof FormData
    const headers = { authorization, ...(body !== undefined && !isForm && { 'content-type': 'application/json' }) }
    const init = { method, headers, ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }) }
    // Faults break some connections.
    return send(`${base}${path}`, init).catch(() => new Response('{}'))
  }
  sim.faults.add({ on: 'createChatCompletion', chance: 0.2, fault: { kind: 'status', status: 503 } })
  sim.faults.add({ on: 'listDeployments', nth: 3, fault: { kind: 'reset', effect: 'none' } })
  sim.faults.add({ on: 'createChatCompletion', nth: 7, fault: { kind: 'truncated', bytes: 90 } })

  const deployer = async () => {
    const created = await call('POST', '/deploy/llm', {
      model_name: 'acme/hourly',
      gpu: 'H100-80GB',
      num_gpus: 1,
      max_batch_size: 96,
      hub: { repo: 'acme/chat-8b' },
      settings: { min_instances: 1, max_instances: 2 },
    })
    const { deploy_id: id } = (await created.json()) as { deploy_id: string }
    for (let poll = 0; poll < 20; poll++) {
      await sim.clock.sleep(150 * SECOND)
      await (await call('GET', `/deploy/${id}`)).text()
      await (await call('GET', '/deploy/list')).text().catch(() => '')
    }
    await call('DELETE', `/deploy/${id}`)
  }
  const chatter = async () => {
    for (let nth = 0; nth < 25; nth++) {
      const answer = await call('POST', '/v1/chat/completions', {
        model: nth % 3 === 0 ? 'acme/hourly' : 'acme/assistant',
        stream: nth % 2 === 1,
        messages: [{ role: 'user', content: `Question ${nth}, with ünicode` }],
      })
      if (nth % 5 === 4) await answer.body?.cancel()
      else await answer.text().catch(() => '')
      await sim.clock.sleep(100 * SECOND)
    }
  }
  const batcher = async () => {
    const lines = Array.from({ length: 30 }, (_, nth) =>
      JSON.stringify({
        custom_id: `line-${nth}`,
        method: 'POST',
        url: '/v1/chat/completions',
        body: { model: 'acme/assistant', messages: [{ role: 'user', content: `Line ${nth}` }] },
      }),
    )
    const uploaded = await call('POST', '/v1/files', batchFile(lines.join('\n')))
    const { id } = (await uploaded.json()) as { id: string }
    const created = await call('POST', '/v1/batches', {
      input_file_id: id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    })
    const { id: batch } = (await created.json()) as { id: string }
    for (let poll = 0; poll < 12; poll++) {
      await sim.clock.sleep(280 * SECOND)
      const answer = await call('GET', `/v1/batches/${batch}`)
      const { output_file_id: output } = (await answer.json()) as { output_file_id?: string | null }
      if (output) await (await call('GET', `/v1/files/${output}/content`)).text()
    }
  }
  const clients = Promise.all([deployer(), chatter(), batcher()])
  await sim.clock.advance('20m')
  sim.cluster.node('h100-0').crash()
  sim.inference.add({ contains: 'Question 1', answer: { text: 'A scripted answer.' } })
  await sim.clock.advance('20m')
  sim.cluster.node('h100-0').repair()
  sim.funds.set(500)
  await sim.clock.advance('20m')
  await Promise.race([clients, sim.clock.advance('1h')])
}
