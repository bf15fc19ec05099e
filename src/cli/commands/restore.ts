/** `modelhost-sim restore`: restores the world of a running server from a file. */
import { basename } from 'node:path'
import type { Argv } from 'yargs'
import { readSnapshotFile } from '../../simulator/checkpoint/files.ts'
import { EXIT_CODES } from '../command.ts'
import { requestServer, type ServerArguments, serverFlags } from '../server-client.ts'
import { requireKnownVariables } from '../values.ts'

export const command = 'restore <file>'
export const example = 'restore before.snapshot'
export const describe = 'Restore the world of a running server from a snapshot'

export interface RestoreArguments extends ServerArguments {
  file: string
}

export function builder(argv: Argv): Argv<RestoreArguments> {
  const options = serverFlags()
  return argv
    .positional('file', { type: 'string', describe: 'A file written by the command snapshot' })
    .options(options)
    .middleware(() => requireKnownVariables(Object.keys(options)))
    .example('$0 restore before.snapshot', 'the default world of a server on this machine')
    .epilogue(EXIT_CODES) as unknown as Argv<RestoreArguments>
}

export async function handler({ file, ...server }: RestoreArguments): Promise<void> {
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(readSnapshotFile(file))]), basename(file))
  // Stored for the duration of the command, under a name that is unlikely to exist.
  const path = `snapshots/restore-${process.pid}`
  await requestServer(server, `${path}/import`, 'a restore', { method: 'POST', body: form })
  try {
    const restored = await requestServer(server, `${path}/restore`, 'a restore', { method: 'POST' })
    const { now, digest } = (await restored.json()) as Readonly<Record<string, string>>
    process.stdout.write(`${server.url}: ${now}, digest ${digest}\n`)
  } finally {
    await requestServer(server, path, 'a restore', { method: 'DELETE' })
  }
}
