import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { handler } from '../../src/cli/endpoints.ts'

test('docs/endpoints.md is what the declarations say', () => {
  const written: string[] = []
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation(text => {
    written.push(String(text))
    return true
  })
  try {
    handler({ json: false, markdown: true })
  } finally {
    spy.mockRestore()
  }
  const page = readFileSync('docs/endpoints.md', 'utf8')
  expect(page.slice(page.indexOf('| Endpoint')), 'make it anew: modelhost-sim endpoints --markdown').toBe(
    written.join(''),
  )
})
