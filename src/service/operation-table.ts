/** Tables of operations: routes are known at once, and a declaration is read when it is first used. */
import { type AnyEndpoint, mirrorOf, type Operations, type Provenance } from './endpoint.ts'

/** Where an operation is served. */
export type OperationRoute = Pick<AnyEndpoint, 'method' | 'path' | 'mirror'>

/** Routes by operation id. Declarations are routes too. */
export type Routes = Readonly<Record<string, OperationRoute>>

/** What is known of an operation without its declaration. */
export interface OperationEntry<Declared = unknown> extends OperationRoute {
  readonly provenance: Provenance
  /** Returns its declaration. */
  readonly declare: () => Declared
}

/** The operations of some modules, by operation id. */
export type OperationTable<Declarations> = {
  readonly [Id in keyof Declarations]: OperationEntry<Declarations[Id]>
}

/**
 * Returns a function that makes the entry of one operation. Its parameters: the route as in the declaration
 * (`GET /v1/voices`), a function that returns the declaration, and whether the operation is mirrored.
 */
function entriesWith(provenance: Provenance) {
  return <Declared>(route: string, declare: () => Declared, isMirrored?: 'mirrored'): OperationEntry<Declared> => {
    const [method, path] = route.split(' ') as [string, string]
    return { method, path, mirror: isMirrored && mirrorOf(path), provenance, declare }
  }
}

export const documented = entriesWith('documented')
export const neighbour = entriesWith('neighbour')
export const assumed = entriesWith('assumed')

/** Returns the declarations of a table in its order. Each is read when it is first used. */
export function declarationsOf<Declarations>(table: OperationTable<Declarations>): Readonly<Declarations> {
  const declarations = {}
  for (const [id, { declare }] of Object.entries<OperationEntry>(table)) {
    Object.defineProperty(declarations, id, {
      configurable: true,
      enumerable: true,
      get: () => {
        const value = declare()
        Object.defineProperty(declarations, id, { value, enumerable: true })
        return value
      },
    })
  }
  return declarations as Readonly<Declarations>
}

/** Returns the operations of a table with the provenance `documented`, without their mirrors. */
export function documentedOf<Scope>(table: OperationTable<Operations<Scope>>): OperationTable<Operations<Scope>> {
  const entries = Object.entries(table).filter(([, { provenance }]) => provenance === 'documented')
  return Object.fromEntries(
    entries.map(([id, { declare, ...entry }]) => {
      const declareUnmirrored = () => {
        const endpoint = declare()
        return endpoint.mirror === undefined ? endpoint : { ...endpoint, mirror: undefined }
      }
      return [id, { ...entry, mirror: undefined, declare: declareUnmirrored }]
    }),
  )
}
