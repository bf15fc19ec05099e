/** `modelhost-sim snapshot`: writes the world of a running server to a file, or restores it from one. */
import { basename } from 'node:path'
import type { Argv } from 'yargs'
import { formatCount } from '../../lib/text/format-count.ts'
import { SNAPSHOT_ENDING } from '../../simulator/checkpoint/file-ending.ts'
import { readSnapshotFile, writeSnapshotFile } from '../../simulator/checkpoint/files.ts'
import { EXIT_CODES, UsageError } from '../command.ts'
import { requestServer, type ServerArguments, serverFlags } from '../server-client.ts'
import { requireKnownVariables } from '../values.ts'

export const command = 'snapshot <file>'
export const example = 'snapshot before.snapshot'
export const describe = 'Write the world of a running server to a file, or restore it with --restore'

export interface SnapshotArguments extends ServerArguments {
  file: string
  restore?: boolean | undefined
}

export function builder(argv: Argv): Argv<SnapshotArguments> {
  const options = {
    restore: { type: 'boolean', default: false, describe: 'Restore the world from the file' },
    ...serverFlags(),
  } as const
  return argv
    .positional('file', {
      type: 'string',
      describe: `A file that ends in ${SNAPSHOT_ENDING}; without --restore, an existing file is replaced`,
    })
    .options(options)
    .middleware(() => requireKnownVariables(Object.keys(options)))
    .example('$0 snapshot before.snapshot', 'of the default world of a server on this machine')
    .example('$0 snapshot before.snapshot --restore', 'goes back to it')
    .example('$0 serve --fixtures before.snapshot', 'continues from the snapshot')
    .epilogue(
      `The file holds the tokens of the world; only its owner can read it.\n${EXIT_CODES}`,
    ) as unknown as Argv<SnapshotArguments>
}

export async function handler({ file, restore, ...server }: SnapshotArguments): Promise<void> {
  await (restore ? restoreFrom(file, server) : saveTo(file, server))
}

async function saveTo(file: string, server: ServerArguments): Promise<void> {
  if (!file.endsWith(SNAPSHOT_ENDING)) {
    throw new UsageError(
      `Failed to write '${file}': the name of a snapshot file ends in ${SNAPSHOT_ENDING}. Rename it.`,
    )
  }
  const taken = await requestServer(server, 'snapshots', 'a snapshot', { method: 'POST' })
  const { snapshot, now, seed, digest } = (await taken.json()) as Readonly<Record<string, string>>
  let bytes: Uint8Array
  try {
    const path = `snapshots/${snapshot}/export`
    const exported = await requestServer(server, path, 'a snapshot', {}, 'application/octet-stream')
    bytes = new Uint8Array(await exported.arrayBuffer())
  } finally {
    await requestServer(server, `snapshots/${snapshot}`, 'a snapshot', { method: 'DELETE' })
  }
  writeSnapshotFile(file, bytes)
  process.stdout.write(`${file}: ${now}, seed ${seed}, digest ${digest}, ${formatCount(bytes.length)} bytes\n`)
}

async function restoreFrom(file: string, server: ServerArguments): Promise<void> {
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
