import { resolve } from 'node:path'

/** What a scenario names as `./…` or `../…` lies beside its script, wherever the run was started. */
export function resolveRelative<Source>(source: Source, home: string): Source | string {
  return typeof source === 'string' && /^\.\.?[\\/]/.test(source) ? resolve(home, source) : source
}
