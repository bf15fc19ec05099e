import { expect, test } from 'vitest'
import { describeEntry, KIND_SENTENCES } from '../../../src/simulator/explain/kind-sentences.ts'
import { toFuture } from '../../../src/simulator/explain/sentence.ts'

test('the sentence of each kind of entry has a future tense', () => {
  const fields = new Proxy({}, { get: (_, name) => (name === 'status' ? 200 : 'x') })
  const wrong = Object.keys(KIND_SENTENCES)
    // A caller gives these at once.
    .filter(kind => !/^(?:request|data\..*|command\.missed|.*\.(?:set|edited|described|approved|denied))$/.test(kind))
    .map(kind => toFuture(describeEntry({ seq: 1, time: 0, kind, subject: 'id1', cause: 0, fields } as never)))
    .filter(text => !/\bwill \w+/.test(text) || /will be \w*(?:will|able to not)/.test(text))
  expect(wrong).toEqual([])
})

test.each([
  ['The instance a was lost. The reason is x.', 'The instance a will be lost.'],
  ['The instance a has its image, and began to load.', 'The instance a will have its image, and will begin to load.'],
  ["The topic 'it was' ended.", "The topic 'it was' will end."],
  [
    'The zone a went down, and all of its nodes are lost.',
    'The zone a will go down, and all of its nodes will be lost.',
  ],
])('%s becomes %s', (past, future) => {
  expect(toFuture(past)).toBe(future)
})
