/** `modelhost-sim explain`: says why a thing of a world is as it is, and what happens to it next. */

import { escapeControls } from '../../lib/text/words.ts'
import { type Explanation, formatExplanation } from '../../simulator/explain/explanation.ts'
import { type ArgumentsOf, toggle } from '../flags.ts'
import { askServer, SERVER_FLAGS } from '../server-client.ts'

export const command = 'explain <subject>'
export const example = 'explain h100-0'
export const describe =
  'Explain a thing or a request: what decided its state, its causes and effects, and what comes next'

export const flags = { ...SERVER_FLAGS, json: toggle('Print one JSON object') }
export const positional = {
  subject: {
    type: 'string',
    describe: 'An id, a name, a request as in "request 4", or a position in the journal',
  },
} as const
export const examples = [['$0 explain "request 4"', 'the fourth request of a server on this machine']]

export async function handler({
  subject,
  json,
  ...server
}: ArgumentsOf<typeof flags> & { subject: string }): Promise<void> {
  const path = `explain/${encodeURIComponent(subject)}`
  const explanation = await askServer<Explanation>(server, path, 'an explanation', 'sentences')
  process.stdout.write(
    json ? `${JSON.stringify(explanation, null, 2)}\n` : escapeControls(formatExplanation(explanation)),
  )
}
