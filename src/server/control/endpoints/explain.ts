import * as z from 'zod'
import { loadTokenizer } from '../../../service/openai/tokenizer.ts'
import * as explanations from '../../../simulator/explain/explain.ts'
import type { Explanation } from '../../../simulator/explain/explanation.ts'
import { type Answered, control, refuseInvalid } from '../endpoint.ts'
import { EntrySentenceSchema } from '../journal-view.ts'

export const explainSubject = control({
  route: 'GET /_sim/explain/{subject}',
  summary:
    'Explain a thing by its id or name, or a journal entry by its position: its state, what decided it, its causes and ' +
    'effects, and what happens to it next',
  example: { target: '/_sim/explain/h100-0' },
  refusals: { 404: 'an unknown id, or a position that the journal does not have' },
  returns: z.object({
    subject: z.string().describe('The id; `request 4` for the fourth request, `entry 12` for a position'),
    sentences: z.array(z.string()),
    chain: z.array(EntrySentenceSchema).describe('What decided its state, then the causes back to the first'),
    effects: z.array(EntrySentenceSchema).describe('What came of it, oldest first: at most 20'),
    next: z
      .object({
        at: z.string().describe('The time as ISO 8601'),
        in: z.string().describe('The time from now, as in `2m 5s`'),
        sentence: z.string(),
      })
      .optional()
      .describe('What happens next without a further request or command; missing if nothing is planned'),
  }),
  handle: async ({ params: { subject }, sim }) => {
    if (sim.world.needsTokenizer) await loadTokenizer()
    return refuseInvalid(() => explanations.explain(sim, subject) as Answered<Explanation>, 404)
  },
})
