/** Writes the plan of a test for vitest. */

import { formatDuration } from '../../../kernel/duration.ts'
import type { ControlAction } from '../../observer.ts'
import { toCommandCall } from './command-call.ts'
import type { TestPlan, TestStep } from './steps.ts'

/** The part of a test with requests that wait. */
const SETTLE = `  /** Lets a request take its first step, before the next one is sent. */
  async function settle() {
    for (let turn = 0; turn < 200; turn++) await new Promise(resolve => setImmediate(resolve))
  }

`

/** Returns the source of a test in TypeScript. */
export function toVitest({ options, steps, digest }: TestPlan, title: string): string {
  const body = steps.flatMap(step => toStatements(step)).map(line => `  ${line}\n`)
  return `import { createSimulator } from 'modelhost-sim'
import { expect, test } from 'vitest'

const options = ${JSON.stringify(options, null, 2)}

test(${JSON.stringify(title)}, async () => {
  await using sim = createSimulator({ ...options, clock: 'manual' } as Parameters<typeof createSimulator>[0])
  const clients = new Map<number, AbortController>()

  /** Sends a request and reads its whole answer. Returns the status, 0 for no answer. */
  async function send(number: number, method: string, path: string, headers = {}, body?: string | Uint8Array<ArrayBuffer>) {
    const client = new AbortController()
    clients.set(number, client)
    try {
      const all = Object.entries({ authorization: \`Bearer \${sim.token}\`, ...headers })
      const init = { method, headers: all.filter(([, value]) => value !== null) as [string, string][], signal: client.signal }
      const answer = await sim.fetch(\`http://sim\${path}\`, body === undefined ? init : { ...init, body })
      await answer.text().catch(() => '')
      return answer.status
    } catch {
      return 0
    }
  }

${steps.some(step => step.kind === 'send' && !step.isImmediate) ? SETTLE : ''}${body.join('')}
  expect(sim.digest).toBe('${digest}')
})
`
}

function toStatements(step: TestStep): string[] {
  switch (step.kind) {
    case 'advance':
      return ['', `await sim.clock.advance('${step.by}us') // ${formatDuration(step.by)}`]
    case 'send': {
      const { number, method, path, headers, body, isImmediate, status } = step
      const parts = [String(number), quoteText(method), quoteText(path), JSON.stringify(headers)]
      if (body !== undefined) {
        parts.push(
          typeof body === 'string' ? quoteText(body) : `new Uint8Array(Buffer.from('${body.base64}', 'base64'))`,
        )
      }
      const call = `send(${parts.join(', ')})`
      if (isImmediate) return [`expect(await ${call}).toBe(${status})`]
      return [`const answer${number} = ${call}`, `void answer${number}`, 'await settle()']
    }
    case 'expect':
      return [`expect(await answer${step.number}).toBe(${step.status})`]
    case 'leave':
      return [`clients.get(${step.number})?.abort()`]
    case 'act':
      return [toStatement(step.action)]
  }
}

function toStatement(action: ControlAction): string {
  if (action.do === 'command') {
    return toCommandCall('sim.cluster', action.command, action.delay ? `${action.delay}us` : undefined)
  }
  if (action.do === 'addFault') return `sim.faults.add(${JSON.stringify(action.rule)} as never)`
  if (action.do === 'removeFault') return `sim.faults.remove(${quoteText(action.id)})`
  if (action.do === 'addAnswer') return `sim.inference.add(${JSON.stringify(action.rule)})`
  if (action.do === 'removeAnswer') return `sim.inference.remove(${quoteText(action.name)})`
  return action.do === 'clearAnswers' ? 'sim.inference.clear()' : 'sim.reset()'
}

function quoteText(text: string): string {
  return JSON.stringify(text)
}
