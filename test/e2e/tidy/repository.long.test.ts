/** The checks that need the compiler of TypeScript or read every file: they take longer than the rules by themselves. */
import { describe, expect, test } from 'vitest'
import { reportApi } from '../../../tools/tidy/api-report.ts'
import { applyRules } from '../../../tools/tidy/rules.ts'

describe('the report of public types', () => {
  const FILES: Readonly<Record<string, string>> = {
    'index.d.ts': "export { make, type Made as Thing } from './make.js'\n",
    'make.d.ts':
      "import type { Part } from './part.ts'\nimport type { z } from 'zod'\n/** Comment. */\nexport declare function make(part: Part): z.Any\nexport interface Made { a: import('./other.js').Other }\nexport interface Unused { b: 1 }\n",
    'part.d.ts': 'export interface Part { readonly hidden: Hidden }\ninterface Hidden { readonly depth: number }\n',
    'other.d.ts': 'export type Other = 1 | 2\n',
  }
  const report = (changed = {}) => reportApi({ '.': 'index.d.ts' }, path => ({ ...FILES, ...changed })[path]!)

  test('has the declarations of an entry and what they name, and no others', () => {
    const text = report()
    expect(text).toContain('- Thing\n- make\n')
    for (const name of ['function make', 'interface Made', 'interface Part', 'type Other']) expect(text).toContain(name)
    // A type that no export names is reported with neither.
    expect(text).not.toMatch(/Unused|Comment|interface Hidden/)
  })

  test('has the exports of a module whose namespace is a type', () => {
    const index = "import * as other from './other.js'\nexport type Every = typeof other\n"
    expect(report({ 'index.d.ts': index })).toContain('type Other')
  })

  test('changes when a type changes that no entry exports by itself', () => {
    expect(report({ 'other.d.ts': 'export type Other = 1 | 2 | 3\n' })).not.toBe(report())
  })
})

test('the rules read the repository', () => {
  const { found } = applyRules()
  expect(found['files without an import rule']).toEqual([])
  expect(Object.keys(found)).toHaveLength(12)
})
