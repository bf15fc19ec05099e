/** Files that flags and arguments of commands name. Each is written whole or not at all. */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { attempt, describeFileError } from '../../lib/errors.ts'
import { UsageError } from '../command.ts'
import type { Command } from '../flags.ts'

/** Refuses a command line in which a file to write is also the one of another flag, argument or word after `--`. */
export function requireDistinctFiles(
  { command, flags = {}, positional = {} }: Command,
  argv: Readonly<Record<string, unknown>>,
  otherCommand: readonly string[] = [],
): void {
  const given = [...Object.keys(positional).map(name => argv[name]), otherCommand].map(value => ['an argument', value])
  const named = [...given, ...Object.keys(flags).map(name => [`--${name}`, argv[name]])].flatMap(([source, value]) =>
    [value].flat().flatMap(text => (typeof text === 'string' && text !== '' ? [{ source: String(source), text }] : [])),
  )
  // A value such as NAME=FILE names a file too.
  const isWrittenBy = (one: (typeof named)[number], { text }: typeof one) =>
    flags[one.source.slice(2)]?.isOutput === true &&
    [text, text.slice(text.indexOf('=') + 1)].some(path => realPath(path) === realPath(one.text))
  for (const [i, one] of named.entries()) {
    const other = named.slice(0, i).find(before => isWrittenBy(one, before) || isWrittenBy(before, one))
    if (other === undefined || other.source === one.source) continue
    const [verb] = String(command).split(' ')
    throw new UsageError(
      `Failed to ${verb}: ${other.source} and ${one.source} name the same file '${other.text}'. Give each its own.`,
    )
  }
}

function realPath(path: string): string {
  return attempt(() => realpathSync(path)) ?? resolve(path)
}

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
