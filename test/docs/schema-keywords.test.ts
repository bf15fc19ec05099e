/** docs/inference.md lists the keywords of JSON schemas that are refused. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { REFUSED_KEYWORDS } from '../../src/lib/json-schema/document.ts'

test('docs/inference.md lists the keywords that the simulator refuses', () => {
  const page = readFileSync('docs/inference.md', 'utf8')
  const [, list = ''] = /keyword that neither zod nor Pydantic writes: (.*?)\.\n- /s.exec(page) ?? []
  const names = Array.from(list.replace(/ \(.*?\)/s, '').matchAll(/`(.*?)`/g), ([, name]) => name)
  expect(names).toEqual([...REFUSED_KEYWORDS])
})
