import * as z from 'zod'
import { describeEntry } from '../../evidence/explain/kind-sentences.ts'
import type { Entry } from '../../kernel/journal.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { JournalEntrySchema, toJournalView } from '../journal-view.ts'

/** A journal entry with what happened, in one to three sentences. */
export const DescribedEntrySchema = JournalEntrySchema.extend({ sentence: z.string() })

/** @param redact shortens the tokens in a text */
export function toDescribedEntry(
  entry: Entry,
  sim: Simulator,
  redact: (text: string) => string,
): z.input<typeof DescribedEntrySchema> {
  return { ...toJournalView(entry, sim, redact), sentence: redact(describeEntry(entry)) }
}
