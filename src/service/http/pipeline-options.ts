import type { DecidedBy, RequestEntry } from '../../kernel/journal.ts'
import type { Operations } from '../endpoint.ts'
import type { VendorMapping } from '../naming/translation.ts'
import type { Routes } from '../operation-table.ts'
import type { RequestContext } from './request-context.ts'
import type { ResponsesOptions } from './responses.ts'

/** What a pipeline knows about the operations that it answers and about its backend. */
export interface PipelineOptions<Backend, Scope> extends ResponsesOptions<Backend> {
  readonly operations: Operations<Scope>
  /** The routes of all operations. Default: their declarations, which are then read at once. */
  readonly routes?: Routes
  /** Authenticates a request and returns what its handler gets besides the input. Throws RefusalError. */
  createScope(context: RequestContext<Backend>): Scope
  /** Returns the scope for a handler that reads another backend than the one that authenticated the request. */
  replaceBackend?(scope: Scope, backend: Backend): Scope
  /** Opens a request in the journal; `operationId` is `''` if no route matches. */
  openEntry?(
    backend: Backend,
    operationId: string,
    method: string,
    path: string,
    cause?: number,
  ): RequestEntry | undefined
  closeEntry?(backend: Backend, entry: RequestEntry | undefined, status: number, decidedBy: DecidedBy): void
  /** Changes the status of an entry that was closed as a success while the response was waited for. */
  amendEntry?(entry: RequestEntry | undefined, status: number, decidedBy: DecidedBy): void
  /** The names profile of the world. */
  readonly mapping?: VendorMapping | undefined
  /** Refuses undeclared query parameters. Default: they are ignored, as unknown fields of a body are. */
  readonly strictQuery?: boolean
  /** Whether a backend accepts texts of digits as numbers, and `"true"` and `"false"` as booleans. Default: no. */
  isLax?(backend: Backend): boolean
  /** Refuses undeclared fields of a body, and reports everything that nothing reads. */
  readonly strictRequests?: boolean
}
