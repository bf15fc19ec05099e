/** docs/journal.md lists every kind of journal entry with its fields. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { JOURNAL_KINDS } from '../../../src/simulation/journal-kinds.ts'
import { blocksOf, blockWith, runTypeScript } from './page-blocks.ts'

const page = readFileSync('docs/journal.md', 'utf8')
const blocks = blocksOf('docs/journal.md')
const rows = [...page.split('\n## Kinds by subject\n')[1]!.matchAll(/^\| `(.*?)` \| (.*?) ?\| (.+) \|$/gm)]
const fieldsOf = new Map(
  rows.map(([, kind, cell]) => [kind!, [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name!)]),
)

test('docs/journal.md lists every kind of the source once, and none else', () => {
  expect(rows.map(([, kind]) => kind).sort()).toEqual([...JOURNAL_KINDS].sort())
})

test('docs/journal.md lists every field that the traces of the package have', () => {
  const unlisted = new Set<string>()
  const paths = readdirSync('scenarios', { recursive: true, encoding: 'utf8' }).filter(path => path.endsWith('.trace'))
  expect(paths.length).toBeGreaterThan(50)
  for (const path of paths) {
    for (const line of readFileSync(join('scenarios', path), 'utf8').split('\n')) {
      const [, kind, fields] = /^[\d.]+ (\S+) (?:\S+)(.*)$/.exec(line) ?? []
      if (kind === undefined || kind === 'check') continue
      for (const [, name] of fields!.matchAll(/ (\w+)=(?:"(?:[^"\\]|\\.)*"|\S+)/g)) {
        if (!fieldsOf.get(kind)?.includes(name!)) unlisted.add(`${kind} ${name}`)
      }
    }
  }
  expect([...unlisted]).toEqual([])
})

test('docs/journal.md shows lines of a trace of the package', () => {
  const trace = readFileSync('scenarios/api/answer-lost.trace', 'utf8').split('\n')
  for (const line of blockWith(blocks, 'instance.pulling').trim().split('\n')) expect(trace).toContain(line)
})

test('the code of docs/journal.md prints the causes of an entry', async () => {
  expect(blocks.map(({ language }) => language)).toEqual(['ts', 'text', 'text'])
  const code = `${blocks[0]!.code}\nif (!later.every(({ seq }) => seq > lost.seq)) console.log('an earlier entry')`
  expect(await runTypeScript('journal', code)).toBe(blocks[1]!.code)
})
