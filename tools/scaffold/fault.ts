import { FAULT_KINDS } from '../../src/simulator/faults/kinds/index.ts'
import type { Scaffold } from './declarations.ts'
import { assertName, assertNew, assertText, quote, toKebabCase } from './input.ts'

/** Files of the folder that are not fault kind. */
const RESERVED = ['index', 'kind', 'fields']

/** Plans a fault kind that answers with a status and a header in place of the endpoint. */
export function planFault([given]: readonly string[], flags: { summary?: string | undefined }): Scaffold {
  const name = assertName('fault kind', given, /^[a-z][A-Za-z\d]*$/, "a name in camel case, as in 'slowBody'")
  assertNew('fault kind', name, [...Object.keys(FAULT_KINDS), ...RESERVED])
  const summary = assertText('summary', flags.summary)
  const file = `src/simulator/faults/kinds/${toKebabCase(name)}.ts`
  return {
    files: [
      { path: file, text: declaration(name, summary) },
      { path: `test/simulator/faults/${toKebabCase(name)}.test.ts`, text: test(name) },
    ],
    next: [
      `Edit ${file}: the fields of the schema, 'act', its words in a finding, and the example.`,
      "If the fault breaks the connection, return a 'WireFaultResponse', and test it with each transport of test/simulator/faults/clients.test.ts.",
      "If it answers late, or with what means another thing, declare 'answers'. If 'act' changed nothing, call 'missed()'.",
      'Add a class to src/workbench/explore/plan/classes.ts, or a reason to test/workbench/explore/plan/classes.test.ts.',
      'Run npm run generate after each change of the declaration.',
    ],
  }
}

function declaration(name: string, summary: string): string {
  return `import * as z from 'zod'
import { effect, whenDone } from './fields.ts'
import { answerInstead, defineFaultKind } from './kind.ts'

/** Answers 503 with the header \`x-fault\`, in place of the endpoint or after it. */
export const ${name} = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('${name}'), effect }),
  summary: ${quote(summary)},
  finding: (fault, operation) => \`\${operation} was answered with 503\${whenDone(fault)}\`,
  example: { kind: '${name}', effect: 'done' },
  act: ({ effect }, hit) =>
    answerInstead(effect, hit, 503, () => new Response('', { status: 503, headers: { 'x-fault': '${name}' } })),
})
`
}

function test(name: string): string {
  return `import { expect, test } from 'vitest'
import { createSimulator } from '../../../src/simulator/simulator.ts'

const body = JSON.stringify({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })

test.each([
  ['none', 200],
  ['done', 409],
] as const)('${name} with effect %s answers once, and the same create is %i afterwards', async (effect, status) => {
  const sim = createSimulator({ fixtures: 'empty', seed: 1 })
  const create = () =>
    sim.fetch('http://sim/deploy/llm', { method: 'POST', headers: { authorization: \`Bearer \${sim.token}\` }, body })
  const rule = sim.faults.add({ on: 'createLlmDeployment', times: 1, fault: { kind: '${name}', effect } })
  const answer = await create()
  expect([answer.status, answer.headers.get('x-fault'), rule.hits]).toEqual([503, '${name}', 1])
  expect((await create()).status).toBe(status)
})
`
}
