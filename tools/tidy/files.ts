import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

/** A text file of the repository; `path` is relative to the root and has forward slashes. */
export interface TextFile {
  readonly path: string
  readonly text: string
}

/** A place that breaks a rule, for example `src/kernel/clock.ts:12: banned word '…'`. */
export type Finding = string

const SKIPPED = /(^|\/)(node_modules|dist|\.git|\.tmp|results)(\/|$)/

/** Reads all files below these paths whose names end with one of `extensions`, sorted by path. */
export function readFiles(paths: readonly string[], extensions: readonly string[]): TextFile[] {
  return paths
    .flatMap(path => {
      if (!statSync(join(ROOT, path)).isDirectory()) return [path]
      const names = readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' })
      return names.map(name => `${path}/${name.replaceAll('\\', '/')}`)
    })
    .filter(path => !SKIPPED.test(path) && extensions.some(extension => path.endsWith(extension)))
    .sort()
    .map(path => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}
