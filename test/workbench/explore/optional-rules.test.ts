/** Rules of conduct as invariants: off unless a flow turns them on. */

import { expect, test } from 'vitest'
import { OPTIONAL_RULE_NAMES, type OptionalRuleName } from '../../../src/simulator/judge/rules/index.ts'
import type { FlowContext } from '../../../src/workbench/explore/flow.ts'
import { assertInvariants, type InvariantSettings } from '../../../src/workbench/explore/invariants.ts'
import { survives } from '../../../src/workbench/scenario/survives.ts'
import { CASES } from '../../simulator/judge/clients.ts'
import { type JudgedClient, sendTo } from '../../simulator/judge/judged.ts'
import { runnerOf } from './small-clients.ts'

/** Sends a chat four times more at fixed pauses. */
async function stubborn({ fetch, url, token, sleep }: FlowContext) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const messages = [{ role: 'user', content: 'How is tea made?' }]
  const body = JSON.stringify({ model: 'aurora-labs/aurora-8b-instruct', messages })
  for (let i = 0; i < 5; i++) {
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    if (response.ok) return response.json()
    await sleep(1_000)
  }
  throw new Error('no answer')
}

const PLAN = [{ fault: { on: 'createChatCompletion' as const, fault: { kind: 'status' as const, status: 500 } } }]

async function brokenBy(invariants: InvariantSettings) {
  const runner = runnerOf(stubborn, { invariants })
  await runner.run([])
  return (await runner.run(PLAN)).broken.map(({ signature }) => signature)
}

test('a rule of conduct is not an invariant unless the flow turns it on', async () => {
  expect(await brokenBy({})).toEqual([])
  expect(await brokenBy({ backsOff: false })).toEqual([])
  expect(await brokenBy({ backsOff: true })).toEqual(['backsOff@createChatCompletion'])
})

test('a scenario turns on the rules of conduct that it lists', async () => {
  const run = { name: 'stubborn', options: { fixtures: 'empty', seed: 1 }, run: stubborn } as const
  const scenario = survives('it backs off', run, { plan: PLAN, invariants: ['backsOff'] })
  await expect(scenario.play({} as never)).rejects.toThrow('backsOff does not hold')
})

test('a mistyped rule of conduct gets the nearest name', () => {
  expect(() => assertInvariants({ backOff: true } as never, 'Failed to explore x')).toThrow(
    "Failed to explore x: unknown invariant 'backOff'. Did you mean 'backsOff'?",
  )
})

/** Runs a client of the tests of judge as a flow, with one rule, and returns the words of what it broke. */
async function wordsOfRun(name: OptionalRuleName, client: JudgedClient): Promise<string[]> {
  const { faults = [], fixtures = 'empty' } = CASES[name].options ?? {}
  const runner = runnerOf(context => client({ ...context, sim: context.sim as never, send: sendTo(context) }), {
    ...{ fixtures, invariants: { [name]: true } },
  })
  await runner.run([])
  const { broken } = await runner.run(faults.map(fault => ({ fault }) as never))
  return broken.filter(({ invariant }) => invariant === name).map(({ words }) => words)
}

test.each(OPTIONAL_RULE_NAMES)(
  'as an invariant, %s is broken by a bad client and kept by a good one',
  { tags: 'slow' },
  async name => {
    const { bad, good, words } = CASES[name]
    const found = await wordsOfRun(name, bad[0]!)
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(words)
    expect(await wordsOfRun(name, good[0]!)).toEqual([])
  },
)
