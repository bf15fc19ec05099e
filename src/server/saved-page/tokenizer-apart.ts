/**
 * The tokenizer of a saved page. Its tables are two thirds of a page, so they are a script of their own, which only the
 * pages have whose worlds count tokens. It is also that of a page whose bundler leaves the tokenizer out.
 */

import { RefusalError } from '../../service/refusals.ts'
import { TOKENIZER_KEY } from './parts.ts'

interface Encoding {
  readonly bytePairEncodingCoreProcessor: unknown
}

/** @throws RefusalError in a page without the tables */
function readEncoding(): Encoding {
  const encoding = (globalThis as Record<symbol, unknown>)[Symbol.for(TOKENIZER_KEY)]
  if (encoding !== undefined) return encoding as Encoding
  throw new RefusalError(
    501,
    'Failed to count tokens: this page has no tokenizer. Send the request to a server, save a page after such a ' +
      "request, or bundle the page without the condition 'modelhost-sim-without-tokenizer'.",
  )
}

const onDemand: Encoding = {
  get bytePairEncodingCoreProcessor() {
    return readEncoding().bytePairEncodingCoreProcessor
  },
}

// It has the exports of the package that it replaces
export default onDemand
