/**
 * A project that has the package, built from the source as it is now: from the source itself a process takes four times
 * as long to start, and many tests start some.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')
/** Inside of ours, so that the dependencies of the package are found. */
const HOMES = join(ROOT, '.tmp')

let home: string | undefined

/**
 * The project's folder, made once for each state of the source; it holds a copy of the scenarios that are shipped. A change
 * of the source is not seen by a process that has asked before.
 */
export function installed(): string {
  home ??= install()
  return home
}

function install(): string {
  const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { files: string[] }
  const parts = ['package.json', ...files.filter(name => name !== 'dist' && !name.startsWith('!'))]
  const stamp = stampOf(['src', 'tools/build', 'tools/scaffold', 'package-lock.json', ...parts])
  const home = join(HOMES, `installed-${stamp}`)
  if (existsSync(home)) return home

  mkdirSync(HOMES, { recursive: true })
  const others = readdirSync(HOMES).filter(name => name.startsWith('installed-'))
  const draft = mkdtempSync(join(HOMES, 'installing-'))
  const place = packageIn(draft)
  for (const part of parts) cpSync(join(ROOT, part), join(place, part), { recursive: true, filter: isPacked })
  cpSync(join(ROOT, 'scenarios'), join(draft, 'scenarios'), { recursive: true })
  // Without these two, ours above would send the package's name to the source.
  writeFileSync(join(draft, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(draft, 'tsconfig.json'), '{}')
  const args = ['tools/build/main.js', '--no-types', '--outdir', join(place, 'dist')]
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })
  if (status !== 0) throw new Error(`Failed to build the package: ${stderr}`)
  try {
    renameSync(draft, home)
  } catch {
    // Another worker was faster, with the same.
    rmSync(draft, { recursive: true })
  }
  for (const name of others) rmSync(join(HOMES, name), { recursive: true, force: true })
  return home
}

/** Where the package lies in the project. */
export function packageIn(project: string): string {
  return join(project, 'node_modules/modelhost-sim')
}

/** A run of the Python client leaves bytecode beside it, which npm does not pack. */
function isPacked(path: string): boolean {
  return !path.includes('__pycache__')
}

/** Returns a hash of the times and sizes of files. A folder does not count: bytecode of Python changes its time. */
function stampOf(parts: readonly string[]): string {
  const hash = createHash('sha256')
  const add = (path: string) => {
    const stat = statSync(path)
    if (stat.isFile()) hash.update(`${path}:${stat.size}:${stat.mtimeMs}\n`)
    return stat
  }
  for (const part of parts) {
    const path = join(ROOT, part)
    if (!add(path).isDirectory()) continue
    for (const entry of readdirSync(path, { recursive: true, encoding: 'utf8' })) {
      if (isPacked(entry)) add(join(path, entry))
    }
  }
  return hash.digest('hex').slice(0, 16)
}
