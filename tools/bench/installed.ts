/** The package as a user has it after `npm install`, or after a clone. */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Fixture } from '../../src/data/records/fixture.ts'
import type { Bench } from './figure.ts'

/** As npm installs it: no source, the bundle. As cloned: no bundle, the source. */
export type Kind = 'installed' | 'cloned'

/**
 * The path of its command.
 *
 * @throws Error when there is no bundle yet
 */
export function commandOf({ root, outdir }: Bench, kind: Kind): string {
  // The bench itself runs in what npm would install: see run.js.
  const copy = kind === 'installed' ? outdir : join(outdir, 'cloned')
  if (kind === 'installed' && !existsSync(join(copy, 'dist/cli.js'))) {
    throw new Error('there is no dist/cli.js: leave --no-build out')
  }
  if (!existsSync(copy)) {
    const { files } = JSON.parse(readFileSync(join(outdir, 'package.json'), 'utf8')) as { files: string[] }
    mkdirSync(copy)
    const own = ['package.json', 'package-lock.json', 'tsconfig.json', 'src', 'tools/build']
    for (const part of [...own, ...files.filter(file => file !== 'dist')]) {
      if (existsSync(join(root, part))) cpSync(join(root, part), join(copy, part), { recursive: true })
    }
  }
  return join(copy, 'bin/modelhost-sim.js')
}

/** Writes a fixture as a folder, for `--fixtures`. */
export function folderOf(bench: Bench, name: string, fixture: Fixture): string {
  const folder = join(bench.outdir, name)
  mkdirSync(folder, { recursive: true })
  for (const [key, value] of Object.entries(fixture)) writeFileSync(join(folder, `${key}.json`), JSON.stringify(value))
  return folder
}
