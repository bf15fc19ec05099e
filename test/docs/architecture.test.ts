import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LEVELS } from '../../tools/tidy/import-rules.ts'

const pages = ['ARCHITECTURE.md', 'CONTRIBUTING.md'].map(path => ({ path, text: readFileSync(path, 'utf8') }))

test('each room consists of folders and files that exist', () => {
  const paths = LEVELS.flat().flatMap(room => room.paths)
  expect(paths.filter(path => !existsSync(`src/${path}`))).toEqual([])
})

test('ARCHITECTURE.md lists the rooms of each level that exist, from the lowest to the highest', () => {
  const table = pages[0]!.text.split('\n| Rooms below `src/` |')[1]!.split('\n\n')[0]!
  const rows = table.split('\n').slice(2)
  const listed = rows.map(row => [...row.split('|')[1]!.matchAll(/`([^`]+)`/g)].map(([, room]) => room))
  const levels = LEVELS.map(rooms =>
    rooms.filter(({ paths }) => paths.some(path => existsSync(`src/${path}`))).map(({ name }) => name),
  )
  expect(listed).toEqual(levels.filter(rooms => rooms.length > 0))
})

test.each(pages)('$path names only scripts, files and folders that exist', ({ text }) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
  const named = [...text.matchAll(/npm run ([\w:]+)/g)].map(([, script]) => script!)
  expect(named.filter(script => !(script in scripts))).toEqual([])
  const paths = [...text.matchAll(/`((?:src|test|tools|scenarios|fixtures|docs)\/[\w./-]+)`/g)].map(([, path]) => path!)
  // `npm run docs` writes the one that is missing in a clone.
  expect(paths.filter(path => !existsSync(path) && path !== 'tools/site/dist')).toEqual([])
})
