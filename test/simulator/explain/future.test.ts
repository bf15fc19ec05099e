import { expect, test } from 'vitest'
import { describeEntry, KIND_SENTENCES } from '../../../src/simulator/explain/kind-sentences.ts'
import { toFuture } from '../../../src/simulator/explain/sentence.ts'

/** Values of fields that lead to the different sentences of a kind. */
const VALUES = ['x', 200, null, undefined, 'cached', 'balance', 'limit-reached']
/** A verb of the past, or of a tense that the future has not. The others are participles, which follow a form of be. */
const PAST =
  /(?<!\b(?:be|been) (?:\w+ )?)(?<!will )\b(?!(?:need|speed|hosted|scheduled|scoped|shared)\b)(?:\w+ed|was|were|had|did|does|could|found|set|took|went|came|gave|made|got|fell|lost)\b/

const FUTURES = Object.keys(KIND_SENTENCES).flatMap(kind => {
  const texts = VALUES.map(value => {
    const fields = new Proxy({}, { get: () => value })
    return toFuture(describeEntry({ seq: 1, time: 0, kind, subject: 'id1', cause: 0, fields } as never))
  })
  const plain = texts.map(text => text.replaceAll(/\b(?:undefined|cached|limit-reached)\b/g, 'x'))
  return [...new Set(plain)].map(text => [kind, text] as const)
})

test('the sentence of each kind of entry has a future tense', () => {
  const wrong = FUTURES.filter(([, text]) => {
    const clauses = text.split(/[,:] | (?:and|or|because|while|which) /)
    const hasTwo = clauses.some(clause => /\bwill\b.*\bwill\b/.test(clause))
    return (
      hasTwo ||
      !/\bwill \w+/.test(text) ||
      PAST.test(text) ||
      /will (?:do not|be being|be not)\b|will \S*will/.test(text)
    )
  })
  expect(wrong).toEqual([])
})

test.each([
  ['The instance a was lost. The reason is x.', 'The instance a will be lost.'],
  ['The instance a has its image, and began to load.', 'The instance a will have its image, and will begin to load.'],
  [
    'The grace period of the account ended, so everything on it stops.',
    'The grace period of the account will end, so everything on it will stop.',
  ],
  [
    'The answer a was cut off, because the account was suspended or was deleted.',
    'The answer a will be cut off, because the account will be suspended or will be deleted.',
  ],
  ['The instance a found its image on its node.', 'The instance a will find its image on its node.'],
  ['The pool pool-failed/set got nodes.', 'The pool pool-failed/set will get nodes.'],
  ["The topic 'it was' ended.", "The topic 'it was' will end."],
  [
    'The zone a went down, and all of its nodes are lost.',
    'The zone a will go down, and all of its nodes will be lost.',
  ],
])('%s becomes %s', (past, future) => {
  expect(toFuture(past)).toBe(future)
})
