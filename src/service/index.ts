/** Every operation by its id, which is the name its declaration is exported under. */

import type { ApiScope } from './api-scope.ts'
import * as declarations from './declarations.ts'
import { type Operations, sortByPath } from './endpoint.ts'

export const operations = sortByPath({ ...declarations } satisfies Operations<ApiScope>)

/** The operations of the interface document alone, without their mirrors. */
export const documentedOperations: Operations<ApiScope> = Object.fromEntries(
  Object.entries<Operations<ApiScope>[string]>(operations)
    .filter(([, { provenance }]) => provenance !== 'neighbour')
    .map(([name, endpoint]) => [name, endpoint.mirror === undefined ? endpoint : { ...endpoint, mirror: undefined }]),
)
