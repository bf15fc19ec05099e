/** Every fault kind by its name. `npm run generate` writes this file from the folder. */
import { drift } from './drift.ts'
import { duplicate } from './duplicate.ts'
import { empty } from './empty.ts'
import { garbled } from './garbled.ts'
import { gzip } from './gzip.ts'
import { hang } from './hang.ts'
import { headers } from './headers.ts'
import { html } from './html.ts'
import { defineFaultKinds } from './kind.ts'
import { latency } from './latency.ts'
import { rateLimit } from './rate-limit.ts'
import { refused } from './refused.ts'
import { reset } from './reset.ts'
import { slowBody } from './slow-body.ts'
import { stale } from './stale.ts'
import { status } from './status.ts'
import { stream } from './stream.ts'
import { truncated } from './truncated.ts'
import { variation } from './variation.ts'

export const FAULT_KINDS = defineFaultKinds({
  drift,
  duplicate,
  empty,
  garbled,
  gzip,
  hang,
  headers,
  html,
  latency,
  rateLimit,
  refused,
  reset,
  slowBody,
  stale,
  status,
  stream,
  truncated,
  variation,
})
