/** The forms for issues, by the rules of GitHub: a form that breaks one of them is not shown. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

const FOLDER = '.github/ISSUE_TEMPLATE'
const text = z.string().min(1)
const question = z.strictObject({
  type: z.enum(['input', 'textarea']),
  id: z.string().regex(/^[\w-]+$/),
  attributes: z.strictObject({ label: text, description: text.optional() }),
  validations: z.strictObject({ required: z.boolean() }),
})
const note = z.strictObject({ type: z.literal('markdown'), attributes: z.strictObject({ value: text }) })
const form = z.strictObject({ name: text, description: text, body: z.array(z.union([question, note])).min(1) })

test.each(readdirSync(FOLDER))('%s is a form, and its questions have different ids and labels', file => {
  const { body } = form.parse(parse(readFileSync(`${FOLDER}/${file}`, 'utf8')))
  const questions = body.filter(part => part.type !== 'markdown')
  for (const keys of [questions.map(({ id }) => id), questions.map(({ attributes }) => attributes.label)]) {
    expect(new Set(keys).size).toBe(questions.length)
  }
})
