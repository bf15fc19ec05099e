/** Each rule of conduct is broken by a bad client, and kept by a good one that does the same work. */
import { expect, test } from 'vitest'
import { CONDUCT_RULE_NAMES } from '../../../src/evidence/rules/conduct/index.ts'
import { CASES } from './clients.ts'
import { runClients } from './judged.ts'

test.each(CONDUCT_RULE_NAMES)('a bad client breaks %s', async name => {
  const { bad, options, words } = CASES[name]
  const sim = await runClients(bad, options)
  const found = sim.judge().findings.filter(({ rule }) => rule === name)
  expect(found).toHaveLength(1)
  expect(found[0]!.words).toMatch(words)
  expect(found[0]!.evidence.length).toBeGreaterThan(0)
})

test.each(CONDUCT_RULE_NAMES)('a good client keeps %s', async name => {
  const { good, options } = CASES[name]
  const sim = await runClients(good, options)
  expect(sim.judge().findings.filter(({ rule }) => rule === name)).toEqual([])
})
