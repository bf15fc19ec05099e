/** Where the scenarios of this package lie. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Beside the package's `package.json`, however deep this module was bundled. */
export function bundledScenariosFolder(): string {
  let home = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(home, 'package.json')) && home !== dirname(home)) home = dirname(home)
  return join(home, 'scenarios')
}
