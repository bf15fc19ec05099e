/** The package as its users get it: its files, and its types for the compilers of users. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { packageIn } from '../../test/e2e/installed-package.ts'
import { type Finding, ROOT, readFiles } from './files.ts'

/** The condition by which this repository reads its own source: a published package does not have these files. */
export const OWN_CONDITION = 'modelhost-sim-source'
/**
 * What a user does with the programs of `user`: a compiler and its settings. The types of vitest bring those of Node, so
 * only a program without vitest shows what needs these.
 */
export const COMPILATIONS = [
  ['typescript-oldest', 'tsconfig.json'],
  ['typescript', 'tsconfig.json'],
  ['typescript-newest', 'tsconfig.json'],
  ['typescript-newest', 'without-node.json'],
] as const

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly [OWN_CONDITION]: string }>>
}

export function readManifest(): Manifest {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
}

/** Makes the project of a user: what npm packs of the package in `folder`, and the programs of `user`. */
export function layOutProject(project: string, folder: string): void {
  const place = packageIn(project)
  rmSync(project, { recursive: true, force: true })
  mkdirSync(place, { recursive: true })
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', project]
  const file = execFileSync('npm', pack, { cwd: folder, encoding: 'utf8' }).trim()
  execFileSync('tar', ['-xzf', join(project, file), '-C', place, '--strip-components=1'])
  cpSync(join(ROOT, 'tools/tidy/user'), project, { recursive: true })
}

/** Finds the entries of the package that no program of `user` imports. */
export function findUnusedEntries(): Finding[] {
  const programs = readFiles(['tools/tidy/user'], ['.ts']).map(({ text }) => text)
  const { name, exports } = readManifest()
  return Object.keys(exports)
    .map(entry => name + entry.slice(1))
    .filter(entry => !new RegExp(`'${entry.replaceAll('.', '\\.').replace('*', '\\w+')}'`).test(programs.join()))
    .map(entry => `tools/tidy/user: no program imports ${entry}`)
}

/** Checks `exports` and the files of a package with publint. */
export async function lintPackage(folder: string): Promise<Finding[]> {
  const { messages, pkg } = await publint({ pkgDir: folder, pack: false, strict: true })
  return messages
    .filter(({ path }) => !path.includes(OWN_CONDITION))
    .map(message => `package.json: ${formatMessage(message, pkg, { color: false })}`)
}
