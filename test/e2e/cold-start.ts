/** A shipped scenario in a project of its own, for processes that play few seeds. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { transformSync } from 'esbuild'

const SOURCE = 'scenarios/deploy/cold-start'

/** Writes the scenario to `scenarios` of a project, with its trace, in JavaScript: loading TypeScript takes longer than a play. */
export function writeColdStart(project: string): void {
  const folder = join(project, 'scenarios')
  mkdirSync(folder)
  const { code } = transformSync(readFileSync(`${SOURCE}.ts`, 'utf8'), { loader: 'ts', target: 'node20.19' })
  writeFileSync(join(folder, 'cold-start.js'), code)
  cpSync(`${SOURCE}.trace`, join(folder, 'cold-start.trace'))
}
