/** Every operation by its id, which is the name its declaration is exported under. */

import type { ApiScope } from './api-scope.ts'
import * as declarations from './declarations.ts'
import { type Operations, sortByPath } from './endpoint.ts'

export const operations = sortByPath({ ...declarations } satisfies Operations<ApiScope>)

/** The operations of the interface document alone, without their mirrors. */
export const documentedOperations: Operations<ApiScope> = selectDocumented(operations)

/** Returns the operations with the provenance `documented`, without their mirrors. */
export function selectDocumented(from: Operations<ApiScope>): Operations<ApiScope> {
  return Object.fromEntries(
    Object.entries(from)
      .filter(([, { provenance }]) => provenance === 'documented')
      .map(([name, endpoint]) => [name, endpoint.mirror === undefined ? endpoint : { ...endpoint, mirror: undefined }]),
  )
}
