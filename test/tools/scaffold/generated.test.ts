import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { declarationLists, isCurrent } from '../../../tools/scaffold/declarations.ts'
import { generatedPages } from '../../../tools/scaffold/pages.ts'

const generated = await generatedPages()
for await (const list of declarationLists()) generated.push(list)

test.each(generated)('$path is as `npm run generate` writes it', ({ path, text }) => {
  const found = readFileSync(path, 'utf8')
  if (!isCurrent(path, found, text)) expect(found, 'run npm run generate').toBe(text)
})
