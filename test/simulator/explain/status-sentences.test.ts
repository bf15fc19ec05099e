/** The sentences of statuses are those of their lifecycle. */
import { expect, test } from 'vitest'
import * as enums from '../../../src/data/records/enums.ts'
import type { Lifecycle } from '../../../src/data/records/lifecycle.ts'
import { describeEntry } from '../../../src/simulator/explain/kind-sentences.ts'

const LIFECYCLES: readonly [subject: string, lifecycle: Lifecycle<string>][] = [
  ['deployment', enums.DEPLOYMENT_LIFECYCLE],
  ['batch', enums.BATCH_LIFECYCLE],
  ['hosted', enums.HOSTED_LIFECYCLE],
  ['container', enums.CONTAINER_LIFECYCLE],
]

test.each(LIFECYCLES)(
  'a status of a %s has the sentence of its lifecycle, and names its reason',
  (subject, lifecycle) => {
    for (const status of lifecycle.recorded) {
      const { sentence } = lifecycle.journalEntry(status)
      const entry = { seq: 1, time: 0, kind: `${subject}.${status}`, subject: 'Thing0001', cause: 0, fields: {} }
      const start = sentence.slice(0, sentence.indexOf('{id}'))
      expect(start, status).toMatch(/^[A-Z].* $/)
      expect(describeEntry(entry)).toContain(`${start}Thing0001`)
      const withReason = describeEntry({ ...entry, fields: { reason: 'a node crashed' } })
      expect(withReason).toMatch(/ The reason is 'a node crashed'\.$/)
    }
  },
)
