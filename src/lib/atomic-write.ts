/** Writes files atomically: a file is complete or missing, also if the process dies meanwhile. */
import * as nodeFs from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { threadId } from 'node:worker_threads'

/** The used part of a file system. */
export type FileSystem = Pick<
  typeof nodeFs,
  'openSync' | 'writeSync' | 'fsyncSync' | 'closeSync' | 'renameSync' | 'unlinkSync' | 'readdirSync'
>

/**
 * Writes a temporary file beside the path, and renames it when it is on the disk. A reader of the path gets the
 * complete old file or the complete new file. Only its owner may read it, because it contains tokens.
 *
 * @throws the error of the file system. Then the old file is unchanged, and the new one is removed.
 */
export function writeFileAtomically(path: string, bytes: Uint8Array, fs: FileSystem = nodeFs): void {
  removeStaleDrafts(path, fs)
  const draft = join(dirname(path), draftName(path))
  const file = fs.openSync(draft, 'wx', 0o600)
  let isOpen = true
  try {
    for (let at = 0; at < bytes.length; ) at += fs.writeSync(file, bytes, at)
    fs.fsyncSync(file)
    isOpen = false
    fs.closeSync(file)
    fs.renameSync(draft, path)
  } catch (error) {
    if (isOpen) ignoreErrors(() => fs.closeSync(file))
    ignoreErrors(() => fs.unlinkSync(draft))
    throw error
  }
  // The new name is on the disk when its folder is. Some systems cannot sync a folder.
  ignoreErrors(() => {
    const folder = fs.openSync(dirname(path), 'r')
    try {
      fs.fsyncSync(folder)
    } finally {
      fs.closeSync(folder)
    }
  })
}

/** Removes the temporary files of processes of this machine that were killed during a write. */
export function removeStaleDrafts(path: string, fs: FileSystem = nodeFs): void {
  ignoreErrors(() => {
    const [start, end] = draftName(path, '\n').split('\n') as [string, string]
    for (const name of fs.readdirSync(dirname(path))) {
      if (!name.startsWith(start) || !name.endsWith(end)) continue
      const writer = /^(\d+)-(\d+)$/.exec(name.slice(start.length, name.length - end.length))
      if (writer && !isWriterAlive(Number(writer[1]), Number(writer[2]))) {
        ignoreErrors(() => fs.unlinkSync(join(dirname(path), name)))
      }
    }
  })
}

/**
 * Returns the name of a temporary file. It names the file and its writer, so that files of dead writers are recognized.
 */
function draftName(path: string, writer = `${process.pid}-${threadId}`): string {
  return `.${basename(path)}.${hostname().replaceAll(/[^\w-]/g, '_')}.${writer}.tmp`
}

function isWriterAlive(pid: number, thread: number): boolean {
  // Writes are synchronous, so this thread has no other write in progress.
  if (pid === process.pid) return thread !== threadId
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // A process of another user cannot be checked, and it is alive.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function ignoreErrors(step: () => void): void {
  try {
    step()
  } catch {
    // The next write removes it.
  }
}
