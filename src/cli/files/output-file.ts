/** Files that flags and arguments of commands name. Each is written whole or not at all. */
import { accessSync, constants, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { describeFileError } from '../../lib/errors.ts'
import { UsageError } from '../command.ts'

/**
 * Refuses a path that cannot be written, before the work starts.
 *
 * @param flag the flag that names the file, for errors. Default: an argument does
 */
export function requireWritable(path: string, flag?: string): void {
  const problem = findProblem(path)
  if (problem !== undefined) throw new UsageError(`${failure(path, flag)}: ${problem}.`)
}

/** Creates a folder and those above it. Node 20 never returns from a recursive `mkdir` below `/proc`. */
export function makeFolders(folder: string): void {
  if (existsSync(folder)) return
  makeFolders(dirname(folder))
  mkdirSync(folder)
}

function failure(path: string, flag: string | undefined): string {
  return `Failed to write ${flag === undefined ? '' : `--${flag} `}'${path}'`
}

/** Returns why a file cannot be written, with advice; undefined if it can. */
function findProblem(path: string): string | undefined {
  const folder = dirname(resolve(path))
  try {
    const folderStat = statSync(folder, { throwIfNoEntry: false })
    if (!folderStat) return `there is no folder '${folder}'. Create it, or give a file in another`
    const problem = findFolderProblem(folder)
    if (problem !== undefined) return `${problem}. Give a file in another folder`
    const present = statSync(path, { throwIfNoEntry: false })
    if (present?.isDirectory()) return 'it is a folder. Give a file in it'
    // The file takes the place of what is there, which must not be a device such as /dev/null.
    if (present && !present.isFile()) return 'it is a device, a socket or a pipe. Give a file'
  } catch (error) {
    return `${describeFileError(error)}. Give a file elsewhere`
  }
  return undefined
}

/** Returns why nothing can be written in what is at a path; undefined if it can. */
export function findFolderProblem(folder: string): string | undefined {
  if (!statSync(folder).isDirectory()) return `'${folder}' is not a folder`
  try {
    accessSync(folder, constants.W_OK)
  } catch {
    return `no permission to write in '${folder}'`
  }
  return undefined
}

/**
 * Writes a draft next to the file, with the number of this process, then renames it.
 *
 * @param flag the flag that names the file, for errors; undefined: an argument does
 * @param write writes the draft at a path
 * @throws UsageError when the disk is full or read-only
 */
export function writeByDraft(path: string, flag: string | undefined, write: (draft: string) => void): void {
  const draft = `${path}.${process.pid}.tmp`
  try {
    write(draft)
    renameSync(draft, path)
  } catch (error) {
    try {
      rmSync(draft, { force: true })
    } catch {
      // The error that made it incomplete says more.
    }
    throw new UsageError(
      `${failure(path, flag)}: ${describeFileError(error)}. Free some space, or give a file elsewhere.`,
    )
  }
}

/**
 * Writes a text.
 *
 * @param flag the flag that names the file, for errors; undefined: an argument does
 * @param mode who can read it, as in 0o600. Default: as the system decides
 * @throws UsageError when the disk is full or read-only
 */
export function writeTextFile(path: string, text: string, flag: string | undefined, mode?: number): void {
  writeByDraft(path, flag, draft => writeFileSync(draft, text, { mode }))
}
