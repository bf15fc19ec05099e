/** Files that are there whole or not at all, whatever becomes of the process that writes them. */
import * as nodeFs from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { threadId } from 'node:worker_threads'

/** What is needed of a file system. */
export type FileSystem = Pick<
  typeof nodeFs,
  'openSync' | 'writeSync' | 'fsyncSync' | 'closeSync' | 'renameSync' | 'unlinkSync' | 'readdirSync'
>

/**
 * Writes a file beside the one of this path and puts it in its place once it is on the disk. Whoever reads the path finds
 * what was there before or what is there now, whole. Only its owner may read it, for it holds tokens.
 *
 * @throws what the file system throws; then the old file is as it was, and the new one gone
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
  // The new name is safe once its folder is; some systems can not sync one.
  ignoreErrors(() => {
    const folder = fs.openSync(dirname(path), 'r')
    try {
      fs.fsyncSync(folder)
    } finally {
      fs.closeSync(folder)
    }
  })
}

/** Removes what processes of this machine left beside the file when they were killed while writing it. */
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

/** Named for the file and who writes it, so that two writers never share one and a dead one is known. */
function draftName(path: string, writer = `${process.pid}-${threadId}`): string {
  return `.${basename(path)}.${hostname().replaceAll(/[^\w-]/g, '_')}.${writer}.tmp`
}

function isWriterAlive(pid: number, thread: number): boolean {
  // Writing is one step: this thread is at no other.
  if (pid === process.pid) return thread !== threadId
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Somebody else's process can not be asked, and is there.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function ignoreErrors(step: () => void): void {
  try {
    step()
  } catch {
    // What is left over is swept the next time.
  }
}
