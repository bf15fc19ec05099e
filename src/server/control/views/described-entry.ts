import * as z from 'zod'
import type { Entry } from '../../../kernel/journal.ts'
import { describeEntry } from '../../../simulator/explain/kind-sentences.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { JournalEntrySchema, toJournalView } from '../journal-view.ts'

/** A journal entry with what happened, in one to three sentences. */
export const DescribedEntrySchema = JournalEntrySchema.extend({ sentence: z.string() })

export function toDescribedEntry(entry: Entry, sim: Simulator): z.input<typeof DescribedEntrySchema> {
  return { ...toJournalView(entry, sim), sentence: describeEntry(entry) }
}
