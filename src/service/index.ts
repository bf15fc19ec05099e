/** Every operation of the service by its id, which is the name its declaration is exported under. */
import type { ApiScope } from './api-scope.ts'
import { OPERATIONS } from './declarations.ts'
import type { Operations } from './endpoint.ts'
import { declarationsOf, documentedOf, type Routes } from './operation-table.ts'

export const operations = declarationsOf(OPERATIONS)
export const routes: Routes = OPERATIONS

const documented = documentedOf<ApiScope>(OPERATIONS)

/** The operations of the interface document alone, without their mirrors. */
export const documentedOperations: Operations<ApiScope> = declarationsOf(documented)
export const documentedRoutes: Routes = documented
