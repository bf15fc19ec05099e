/** `modelhost-sim snapshot`: writes the world of a running server to a file. */
import type { Argv } from 'yargs'
import { formatCount } from '../../lib/text/format-count.ts'
import { SNAPSHOT_ENDING } from '../../simulator/checkpoint/file-ending.ts'
import { writeSnapshotFile } from '../../simulator/checkpoint/files.ts'
import { EXIT_CODES, UsageError } from '../command.ts'
import { requestServer, type ServerArguments, serverFlags } from '../server-client.ts'
import { requireKnownVariables } from '../values.ts'

export const command = 'snapshot <file>'
export const example = 'snapshot before.snapshot'
export const describe = 'Write the world of a running server to a file, for --fixtures and restore'

export interface SnapshotArguments extends ServerArguments {
  file: string
}

export function builder(argv: Argv): Argv<SnapshotArguments> {
  const options = serverFlags()
  return argv
    .positional('file', {
      type: 'string',
      describe: `A file that ends in ${SNAPSHOT_ENDING}; an existing file is replaced`,
    })
    .options(options)
    .middleware(() => requireKnownVariables(Object.keys(options)))
    .example('$0 snapshot before.snapshot', 'of the default world of a server on this machine')
    .example('$0 serve --fixtures before.snapshot', 'continues from the snapshot')
    .epilogue(
      `The file holds the tokens of the world; only its owner can read it.\n${EXIT_CODES}`,
    ) as unknown as Argv<SnapshotArguments>
}

export async function handler({ file, ...server }: SnapshotArguments): Promise<void> {
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
