/** What answers have in them: texts, numbers, and what one can count. */
import { expect, test } from 'vitest'
import { AnswerBody } from '../../../src/simulator/judge/answers/answer-body.ts'
import { addContents, noContents, normaliserOf } from '../../../src/simulator/judge/answers/contents.ts'

const read = (value: unknown) => {
  const contents = noContents()
  addContents(contents, AnswerBody.ofText('application/json', JSON.stringify(value)), normaliserOf(new Map()))
  return contents
}

test('the length and the words of a text are numbers of an answer, those of a word are not', () => {
  const { numbers } = read({ object: 'file', text: 'Bridge school the yet' })
  expect(numbers.has('Bridge school the yet'.length)).toBe(true)
  expect(numbers.has(4)).toBe(true)
  expect(read({ object: 'file' }).numbers.has('file'.length)).toBe(false)
})

test('the length of a list, its values and the names of fields count', () => {
  const { numbers, fields } = read({ requests: [10, 20, 30] })
  expect([3, 10, 20, 30].every(number => numbers.has(number))).toBe(true)
  expect([...fields]).toEqual(['requests'])
})
