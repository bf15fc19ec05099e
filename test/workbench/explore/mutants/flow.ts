/** The client of the mutants as a flow, in its world. */
import type { FlowOptions, NamedFlow } from '../../../../src/workbench/explore/flow.ts'
import { Assistant } from './client.ts'
import type { Mutation } from './mutations.ts'

/** More files than a page of the client has. */
const OTHER_FILES = Array.from({ length: 12 }, (_, i) => ({
  id: `file_other${i}`,
  filename: `other-${i}.jsonl`,
  purpose: 'batch' as const,
  created_at: 1_767_139_200,
  content: '{}',
}))

export const OPTIONS: FlowOptions = {
  fixtures: 'empty',
  seed: 2,
  with: { files: OTHER_FILES },
  // Without a grace period, a batch expires when the money is gone.
  profile: { policies: { suspension_grace: '0s' } },
  invariants: { spendsAtMost: 0.1 },
}

/** Returns the client with one mutation, or without. */
export function assistantFlow(mutation?: Mutation): NamedFlow {
  return {
    name: mutation ?? 'careful',
    options: OPTIONS,
    run: context => new Assistant(context, other => other === mutation).run(),
  }
}
