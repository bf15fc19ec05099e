/** Locks of files: only one process writes to a file. */

import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import * as z from 'zod'
import { attempt as attemptRead } from '../../../lib/errors.ts'
import { tryParseJson } from '../../../lib/json-text.ts'
import { WITHOUT_JIT } from '../../../lib/zod-problems.ts'

const Holder = z.object({
  pid: z.int(),
  host: z.string(),
  /** Tells the process from a later one with the same number, as in a container that starts again. */
  started: z.string().optional(),
})

/**
 * Locks a file for this process by a second file. The lock of a process of this machine that has ended is taken over.
 * Returns a function that releases the lock.
 *
 * @throws RangeError if another process has the lock, and the error of the file system
 */
export function lockFile(path: string): () => void {
  const lock = `${path}.lock`
  const own = JSON.stringify({ pid: process.pid, host: hostname(), started: startOf(process.pid) })
  while (!attempt('EEXIST', () => writeFileSync(lock, own, { flag: 'wx' }))) takeOver(path, lock)
  return () => rmSync(lock, { force: true })
}

function takeOver(path: string, lock: string): void {
  let text = ''
  const isThere = attempt('ENOENT', () => {
    text = readFileSync(lock, 'utf8')
  })
  if (!isThere) return
  const holder = Holder.safeParse(tryParseJson(text), WITHOUT_JIT).data
  const refuse: (reason: string) => never = reason => {
    throw new RangeError(`Failed to write ${path}: ${reason}.`)
  }
  if (holder === undefined) refuse(`its lock cannot be read. If no process writes to it, delete ${lock}`)
  const words = `process ${holder.pid} on ${holder.host} writes to it`
  if (holder.host !== hostname()) refuse(`${words}. If it has ended, delete ${lock}`)
  if (!hasEnded(holder)) refuse(`${words}. Wait until it ends, or end it`)
  // Of several processes, one moves the old lock away. If another one was faster, its new lock is put back.
  const old = `${lock}.${process.pid}`
  if (!attempt('ENOENT', () => renameSync(lock, old))) return
  if (readFileSync(old, 'utf8') === text) rmSync(old)
  else renameSync(old, lock)
}

/** Returns whether the action succeeds. Rejects other errors than that with the code. */
function attempt(code: string, action: () => void): boolean {
  try {
    action()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return false
    throw error
  }
}

function hasEnded({ pid, started }: z.output<typeof Holder>): boolean {
  if (!attempt('ESRCH', () => attempt('EPERM', () => process.kill(pid, 0)))) return true
  const now = startOf(pid)
  return started !== undefined && now !== undefined && now !== started
}

/** Returns the start of a process as Linux counts it; undefined on other systems. */
function startOf(pid: number): string | undefined {
  const stat = attemptRead(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
  return stat?.replace(/^.*\) /s, '').split(' ')[19]
}
