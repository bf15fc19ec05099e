/** The example of each fault kind, which docs/faults.md shows. */
import { expect, onTestFinished, test } from 'vitest'
import { FAULT_KINDS } from '../../../src/simulator/faults/kinds/index.ts'
import type { Fault } from '../../../src/simulator/faults/rules.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'

const body = JSON.stringify({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
const chat = JSON.stringify({
  ...{ model: 'aurora-labs/aurora-8b-instruct', stream: true, max_tokens: 9 },
  messages: [{ role: 'user', content: 'Hello!' }],
})

test.each(Object.entries(FAULT_KINDS))(
  'the example of %s affects a create, a read or a stream',
  async (name, { example }) => {
    const sim = createSimulator({ seed: 1 })
    const leaving = new AbortController()
    onTestFinished(() => leaving.abort())
    const ask = (path: string, init: RequestInit) => {
      const headers = { authorization: `Bearer ${sim.token}` }
      void sim.fetch(`http://sim${path}`, { ...init, headers, signal: leaving.signal }).catch(() => undefined)
    }
    const on = ['createLlmDeployment', 'listDeployments', 'createChatCompletion']
    const rule = sim.faults.add({ on, fault: example as Fault })
    expect(example.kind).toBe(name)
    ask('/deploy/llm', { method: 'POST', body })
    ask('/deploy/list', {})
    if (name === 'stream') ask('/v1/chat/completions', { method: 'POST', body: chat })
    await expect.poll(() => rule.hits, { interval: 1 }).toBeGreaterThan(0)
  },
)
