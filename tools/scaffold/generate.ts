/** `npm run generate`: writes every file that follows from declarations, and prints those that changed. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { declarationLists, type GeneratedFile, isCurrent, ROOT } from './declarations.ts'

for await (const list of declarationLists()) write([list])
// The pages are written from the lists, so these must be in place before they are imported.
const { generatedPages } = await import('./pages.ts')
write(await generatedPages())
const { drawnFigures } = await import('./figures.ts')
write(await drawnFigures())

function write(files: readonly GeneratedFile[]): void {
  const changed = files.filter(({ path, text }) => !isCurrent(path, readFileSync(join(ROOT, path), 'utf8'), text))
  for (const { path, text } of changed) writeFileSync(join(ROOT, path), text)
  const formatted = changed.map(({ path }) => path).filter(path => !/\.(md|py|svg)$/.test(path))
  if (formatted.length > 0) {
    const args = [join(ROOT, 'node_modules/@biomejs/biome/bin/biome'), 'format', '--write', ...formatted]
    spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
  }
  for (const { path } of changed) console.log(`wrote ${path}`)
}
