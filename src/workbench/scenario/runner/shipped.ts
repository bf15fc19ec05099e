/** The folders of this package beside its code. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Returns a folder beside the package's `package.json`, at any depth of this module in the bundle. */
export function shippedFolder(name: 'scenarios' | 'examples'): string {
  let home = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(home, 'package.json')) && home !== dirname(home)) home = dirname(home)
  return join(home, name)
}
