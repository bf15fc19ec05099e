import { posix } from 'node:path'
import type { Finding, TextFile } from './files.ts'

const MAX_LINES = 350
const MAX_FILES = 20

/** Finds source files that are too long. */
export function findLongFiles(files: readonly TextFile[]): Finding[] {
  return files
    .map(({ path, text }) => ({ path, lines: text.replace(/\n$/, '').split('\n').length }))
    .filter(({ lines }) => lines > MAX_LINES)
    .map(({ path, lines }) => `${path}: ${lines} lines`)
}

/** Finds folders with too many source files, those of folders within not counted. */
export function findFullFolders(files: readonly TextFile[]): Finding[] {
  const counts = new Map<string, number>()
  for (const { path } of files) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1)
  return [...counts].filter(([, count]) => count > MAX_FILES).map(([folder, count]) => `${folder}: ${count} files`)
}
