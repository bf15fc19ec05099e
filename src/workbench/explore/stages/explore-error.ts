import { acceptCopies } from '../../../lib/copies.ts'

/** A flow that cannot be explored. The message names the flow and a remedy. */
export class ExploreError extends Error {
  override readonly name = 'ExploreError'
}
acceptCopies(ExploreError, 'ExploreError')
