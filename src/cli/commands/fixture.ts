/** `modelhost-sim fixture`: checks and writes folders of a fixture, and keeps the world of a server in a file. */

import { constants, copyFileSync, existsSync, readdirSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { loadFixture } from '../../data/fixtures/load.ts'
import { FixtureError } from '../../data/fixtures/problem-report.ts'
import type { Fixture } from '../../data/records/fixture.ts'
import { describeFileError } from '../../lib/errors.ts'
import { shellQuote } from '../../lib/quote.ts'
import { formatCount, plural } from '../../lib/text/numbers.ts'
import { escapeControls } from '../../lib/text/words.ts'
import { SNAPSHOT_ENDING } from '../../simulator/checkpoint/file-ending.ts'
import { readSnapshotFile, writeSnapshotFile } from '../../simulator/checkpoint/files.ts'
import { createSimulator } from '../../simulator/simulator.ts'
import { shippedFolder } from '../../workbench/scenario/runner/paths.ts'
import { EXIT_CODES, UsageError } from '../command.ts'
import { makeFolders } from '../files/output-file.ts'
import { requestServer, SERVER_FLAGS, type ServerArguments } from '../server-client.ts'

export const command = 'fixture <action> <path>'
export const actions = {
  check: 'my-world',
  new: 'my-world',
  save: 'before.snapshot',
  restore: 'before.snapshot',
} as const
export const example = 'fixture check my-world'
export const describe = 'Check a fixture, write a small one, or save and restore the world of a server'

export const flags = SERVER_FLAGS
export const positional = {
  action: {
    choices: Object.keys(actions),
    describe:
      'check: list the mistakes, with a correct value where there is one. new: write a small world; existing files ' +
      'stay. save: write the world of a running server to a file, which replaces an existing one. restore: set the ' +
      'world of a running server back to such a file',
  },
  path: {
    type: 'string',
    describe: `check, new: the folder of the fixture. save, restore: a file that ends in ${SNAPSHOT_ENDING}`,
  },
} as const
export const examples = [
  ['$0 fixture new my-world', 'three models and two nodes, to edit'],
  ['$0 fixture check my-world', 'all mistakes of the files at once'],
  ['$0 fixture save before.snapshot', 'saves the default world of a server on this machine'],
  ['$0 serve --fixtures before.snapshot', 'continues from there'],
]
export const epilogue = `A saved file holds the tokens of the world, and has the mode 600.\n${EXIT_CODES}`

interface Arguments extends ServerArguments {
  action: keyof typeof actions
  path: string
}

export function handler({ action, path, ...server }: Arguments): void | Promise<void> {
  if (action === 'save') return saveTo(path, server)
  if (action === 'restore') return restoreFrom(path, server)
  if (action === 'new') writeWorld(path)
  else checkWorld(path)
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

function writeWorld(folder: string): void {
  const source = join(shippedFolder('examples'), 'init/my-world')
  const names = readdirSync(source)
  const present = names.filter(name => existsSync(join(folder, name)))
  if (present.length > 0) {
    throw new UsageError(
      `Failed to write a world to '${folder}': it has ${present.join(', ')} already. Give another folder.`,
    )
  }
  try {
    makeFolders(folder)
    for (const name of names) copyFileSync(join(source, name), join(folder, name), constants.COPYFILE_EXCL)
  } catch (error) {
    throw new UsageError(
      `Failed to write a world to '${folder}': ${describeFileError(error)}. Give a folder that you can write to.`,
    )
  }
  const written = names.map(name => `wrote ${join(folder, name)}\n`)
  process.stdout.write(
    `${written.join('')}\nEdit these files, then:\n  modelhost-sim fixture check ${shellQuote(folder)}\n  modelhost-sim serve --fixtures ${shellQuote(pathOf(folder))}\n`,
  )
}

/** A name without a slash could be that of a world of the package. */
function pathOf(folder: string): string {
  return /^[./]|[/\\]/.test(folder) ? folder : `./${folder}`
}

function checkWorld(folder: string): void {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(
      `Failed to check '${folder}': the folder is missing. Give the folder of a fixture, or write one with: modelhost-sim fixture new ${shellQuote(folder)}`,
    )
  }
  const path = resolve(folder)
  let fixture: Fixture
  try {
    fixture = loadFixture(path)
    createSimulator({ fixtures: path })
  } catch (error) {
    if (!(error instanceof FixtureError)) throw error
    process.stdout.write(escapeControls(formatMistakes(folder, error)))
    process.exitCode = 1
    return
  }
  process.stdout.write(escapeControls(`${folder}: no mistakes. ${summaryOf(fixture)}\n`))
}

function formatMistakes(folder: string, { mistakes, count }: FixtureError): string {
  const texts = mistakes.map(({ problem, example }) => {
    return `\n${problem}\n${example === undefined ? '' : `  Correct: ${example}\n`}`
  })
  return `${folder}: ${plural(count, 'mistake')}\n${texts.join('')}\nCorrect the files and check again.\n`
}

function summaryOf({ models, nodes, deployments }: Fixture): string {
  const nodeCount = nodes.pools.flatMap(pool => pool.nodes).reduce((sum, { count }) => sum + count, 0)
  const counts = [plural(models.length, 'model'), plural(nodeCount, 'node'), plural(deployments.length, 'deployment')]
  return `The world has ${counts.slice(0, 2).join(', ')} and ${counts[2]}.`
}
