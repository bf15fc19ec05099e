/** Laws of explanations in random worlds. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadTokenizer } from '../../../src/service/openai/tokenizer.ts'
import { JOURNAL_SECTIONS } from '../../../src/simulation/journal-kinds.ts'
import { Causes } from '../../../src/simulator/explain/causes.ts'
import { explain } from '../../../src/simulator/explain/explain.ts'
import type { Explanation } from '../../../src/simulator/explain/explanation.ts'
import { KIND_SENTENCES } from '../../../src/simulator/explain/kind-sentences.ts'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { BANNED_WORDS } from '../../../tools/tidy/banned-words.ts'
import { forAllAsync } from '../../setup/for-all.ts'
import { action, perform } from '../../simulation/invariants/actions.ts'

const RUNS = Number(process.env.INVARIANT_RUNS ?? 3)
const WEATHER = { extends: 'realistic', weather: { pack: 'rough', acceleration: 20 } }

await loadTokenizer()

/** What is wrong with the words of a sentence. Quoted texts are those of clients and of the service. */
function problemsOf(text: string): string[] {
  const plain = text.replaceAll(/'[^']*'/g, 'Text')
  const problems = plain.match(BANNED_WORDS)?.map(word => `banned word ${word}`) ?? []
  if (/undefined|NaN|\[object|\{\w+\}|null/.test(plain)) problems.push('a value is missing')
  if (!/^[\p{L}\p{N}_].*[.…]$/su.test(plain)) problems.push('no sentence')
  for (const sentence of plain.split(/(?<=\.)\s+(?=[\p{Lu}\d])/u)) {
    const { length } = sentence.split(' ')
    if (length > 25) problems.push(`${length} words`)
  }
  return problems.map(problem => `${problem}: ${text}`)
}

function assertPlain({ sentences, chain, effects, next }: Explanation): void {
  const texts = [
    ...sentences,
    ...[...chain, ...effects].map(({ sentence }) => sentence),
    ...(next ? [next.sentence] : []),
  ]
  expect(texts.flatMap(problemsOf)).toEqual([])
  expect(sentences.length).toBeGreaterThan(0)
}

/** Asserts that each cause precedes its effect. The answer to a request can come after the entry of the request. */
function assertOrder(sim: Simulator, { chain }: Explanation): void {
  for (const [i, { seq, kind, at }] of chain.slice(0, -1).entries()) {
    const cause = chain[i + 1]!
    if (kind !== 'request') expect(cause.seq).toBeLessThan(seq)
    const effectAt = sim.requests.find(request => request.seq === seq)?.at ?? at
    expect(cause.at <= effectAt).toBe(true)
  }
  expect(new Set(chain.map(({ seq }) => seq)).size).toBe(chain.length)
}

test('every entry and every subject of a random world has a plain explanation, and causes precede effects', async () => {
  await forAllAsync(
    [fc.array(action, { maxLength: 25 }), fc.nat(50), fc.boolean()],
    { numRuns: RUNS },
    async (actions, seed, hasWeather) => {
      const sim = createSimulator({ fixtures: 'default', seed, ...(hasWeather && { profile: WEATHER }) })
      sim.faults.add({ on: '*', chance: 0.2, fault: { kind: 'status', status: 503 } })
      for (const one of actions) await perform(sim, one)
      await sim.clock.advance('3h')
      const before = [sim.digest, sim.world.journal.last]
      const entries = sim.journal.entries()
      // Explanations look ahead, which takes most of their time.
      const step = Math.max(1, Math.floor(entries.length / 15))
      for (const { seq } of entries.filter((_, i) => i % step === 0)) {
        const explanation = explain(sim, seq)
        assertPlain(explanation)
        assertOrder(sim, explanation)
      }
      for (const subject of new Causes(sim).subjects.slice(0, 10)) {
        const explanation = explain(sim, subject)
        assertPlain(explanation)
        assertOrder(sim, explanation)
      }
      expect([sim.digest, sim.world.journal.last]).toEqual(before)
    },
  )
}, 120_000)

test('an effect of a cause has this cause in its chain', async () => {
  await forAllAsync([fc.array(action, { maxLength: 20 })], { numRuns: RUNS }, async actions => {
    const sim = createSimulator({ fixtures: 'default', seed: 3 })
    for (const one of actions) await perform(sim, one)
    sim.cluster.zone(sim.cluster.nodes()[0]!.zone).down()
    await sim.clock.advance('10m')
    const causes = new Causes(sim)
    for (const entry of causes.entries.filter(({ seq }) => seq % 7 === 0 || seq > causes.entries.length - 20)) {
      for (const effect of causes.effectsOf([entry])) expect(causes.chainOf(effect)).toContain(entry)
    }
  })
}, 120_000)

test('each kind of entry has a plain sentence that names no other field than its own', () => {
  const kinds = JOURNAL_SECTIONS.flatMap(section => Object.entries(section.kinds))
  expect(Object.keys(KIND_SENTENCES).sort()).toEqual(kinds.map(([kind]) => kind).sort())
  for (const [kind, { fields = '' }] of kinds) {
    const sentence = KIND_SENTENCES[kind as keyof typeof KIND_SENTENCES]
    const names = fields.split(' ').filter(name => name !== '')
    if (typeof sentence === 'string') {
      const used = Array.from(sentence.matchAll(/\{(\w+)\}/g), ([, name]) => name)
      expect([...names, 'id'], kind).toEqual(expect.arrayContaining(used))
      expect(problemsOf(sentence.replaceAll(/\{\w+\}/g, 'x')), kind).toEqual([])
      continue
    }
    const values = Object.fromEntries(names.map(name => [name, 7]))
    const entry = { seq: 1, time: 0, kind, subject: 'x', cause: 0, fields: values }
    expect(problemsOf(sentence(entry)), kind).toEqual([])
  }
})
