/** `modelhost-sim restore`: the world of a running server goes on from a file. */
import { basename } from 'node:path'
import type { Argv } from 'yargs'
import { readSnapshotFile } from '../../simulator/snapshot/files.ts'
import { EXIT_CODES } from '../command.ts'
import { requestServer, type ServerArguments, serverFlags } from '../server-client.ts'
import { requireKnownVariables } from '../values.ts'

export const command = 'restore <file>'
export const describe = 'Let the world of a running server go on from a snapshot'

export interface RestoreArguments extends ServerArguments {
  file: string
}

export function builder(argv: Argv): Argv<RestoreArguments> {
  const options = serverFlags()
  return argv
    .positional('file', { type: 'string', describe: 'A file that snapshot wrote' })
    .options(options)
    .middleware(() => requireKnownVariables(Object.keys(options)))
    .example('$0 restore before.snapshot', 'the default world of a server on this machine')
    .epilogue(EXIT_CODES) as unknown as Argv<RestoreArguments>
}

export async function handler({ file, ...server }: RestoreArguments): Promise<void> {
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(readSnapshotFile(file))]), basename(file))
  // Kept for as long as it takes, under a name that nobody else would give.
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
