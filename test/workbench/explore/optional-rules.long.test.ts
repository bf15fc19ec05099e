/** A careful client under every single fault, with all rules of conduct as invariants. */

import { expect, test } from 'vitest'
import { OPTIONAL_RULE_NAMES } from '../../../src/simulator/judge/rules/index.ts'
import { exploreRuns } from '../../../src/workbench/explore/explore.ts'
import type { FlowContext } from '../../../src/workbench/explore/flow.ts'
import { runnerOf } from './small-clients.ts'

/** Sends a chat and reads a list. The pauses between retries grow. */
async function careful({ fetch, url, token, sleep }: FlowContext) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const send = async (method: string, path: string, body?: object, tries = 6) => {
    for (let i = 0; ; i++) {
      const sent = { method, headers, signal: AbortSignal.timeout(30_000), ...(body && { body: JSON.stringify(body) }) }
      const response = await fetch(url + path, sent).catch(() => undefined)
      const value = response?.ok ? await response.json().catch(() => undefined) : undefined
      const isFinal = response !== undefined && response.status < 500 && ![200, 408, 425, 429].includes(response.status)
      if (value !== undefined || isFinal || i + 1 === tries) return value
      const asked = Number(response?.headers.get('retry-after') ?? 0) * 1_000
      await sleep(Math.max(asked, 5_000 * 2 ** i))
    }
  }
  const body = { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: 'How is tea made?' }] }
  const answer = await send('POST', '/v1/chat/completions', body)
  const models = await send('GET', '/models/list')
  return { text: answer?.choices?.[0]?.message.content ?? 'failed', models: models?.length ?? 'failed' }
}

test('a careful client keeps all rules of conduct under every single fault', async () => {
  const invariants = Object.fromEntries(OPTIONAL_RULE_NAMES.map(name => [name, true]))
  const runner = runnerOf(careful, { invariants })
  const { findings, points } = await exploreRuns(runner, { name: 'careful', faults: 'singles' })
  expect(points).toBeGreaterThan(20)
  expect(findings.map(({ signature }) => signature)).toEqual([])
})
