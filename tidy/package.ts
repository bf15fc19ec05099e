import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { checkPackage, Package } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { type Finding, ROOT } from './files.ts'

/** The condition by which this repository reads its own source: a published package does not have these files. */
const OWN_CONDITION = 'modelhost-sim-source'
/** The package is for ES modules, and for `exports`: what `require` and the resolution of Node 10 see is not a problem. */
const UNSUPPORTED_RESOLUTIONS = ['node10', 'node16-cjs']

interface Manifest {
  readonly name: string
  readonly version: string
  readonly files: readonly string[]
  readonly exports: Readonly<Record<string, string | { readonly types?: string }>>
}

export function readManifest(): Manifest {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
}

/** Copies what npm would publish to `folder`, except `dist`, which is expected there. */
export function layOutPackage(folder: string): void {
  for (const part of ['package.json', ...readManifest().files.filter(name => name !== 'dist')]) {
    rmSync(join(folder, part), { recursive: true, force: true })
    if (existsSync(join(ROOT, part))) cpSync(join(ROOT, part), join(folder, part), { recursive: true })
  }
}

/** Checks `exports` and the files of a package with publint. */
export async function lintPackage(folder: string): Promise<Finding[]> {
  const { messages, pkg } = await publint({ pkgDir: folder, pack: false, strict: true })
  return messages
    .filter(({ path }) => !path.includes(OWN_CONDITION))
    .map(message => `package.json: ${formatMessage(message, pkg, { color: false })}`)
}

/** Checks with "are the types wrong" that every entry has its types for every kind of resolution that is supported. */
export async function checkTypes(folder: string): Promise<Finding[]> {
  const { name, version, exports } = readManifest()
  const files: Record<string, string> = {}
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const isRead = path === 'package.json' || /^dist\/.*\.(?:js|d\.ts)$/.test(path)
    if (isRead && statSync(join(folder, path)).isFile())
      files[`/node_modules/${name}/${path}`] = readFileSync(join(folder, path), 'utf8')
  }
  const typed = Object.entries(exports).filter(([, target]) => typeof target === 'object')
  const result = await checkPackage(new Package(files, name, version), { entrypoints: typed.map(([entry]) => entry) })
  if (!result.types) return [`${name}: has no types`]
  return result.problems
    .filter(problem => !('resolutionKind' in problem && UNSUPPORTED_RESOLUTIONS.includes(problem.resolutionKind)))
    .map(problem => `package.json: ${JSON.stringify(problem)}`)
}
