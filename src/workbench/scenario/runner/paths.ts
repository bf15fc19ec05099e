import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nearestWord } from '../../../lib/did-you-mean.ts'
import type { SimulatorOptions } from '../../../simulator/options.ts'

/** Resolves `./…` and `../…` of a scenario relative to its script. */
export function resolveRelative<Source>(source: Source, home: string): Source | string {
  return typeof source === 'string' && /^\.\.?[\\/]/.test(source) ? resolve(home, source) : source
}

/** Returns the options of a script with their relative paths resolved relative to it. */
export function withResolvedPaths<Options extends Pick<SimulatorOptions, 'fixtures' | 'profile' | 'names'>>(
  options: Options,
  home: string,
): Options {
  const { fixtures, profile, names } = options
  const paths = Object.entries({ fixtures, profile, names }).filter(([, source]) => source !== undefined)
  return { ...options, ...Object.fromEntries(paths.map(([name, source]) => [name, resolveRelative(source, home)])) }
}

/** Returns a folder beside the package's `package.json`, at any depth of this module in the bundle. */
export function shippedFolder(name: 'scenarios' | 'examples'): string {
  let home = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(home, 'package.json')) && home !== dirname(home)) home = dirname(home)
  return join(home, name)
}

/** Returns the file whose name is nearest to that of a missing one in its folder, with or without an ending. */
export function nearestFile(missing: string, names = /./): string | undefined {
  const home = dirname(missing)
  const isFolder = statSync(home, { throwIfNoEntry: false })?.isDirectory() === true
  const present = isFolder ? readdirSync(home).filter(name => names.test(name)) : []
  const near = nearestWord(basename(missing), present) ?? nearestWord(`${basename(missing)}.ts`, present)
  return near && join(home, near)
}
