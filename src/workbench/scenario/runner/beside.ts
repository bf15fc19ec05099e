import { resolve } from 'node:path'
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
