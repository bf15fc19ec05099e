/** `modelhost-sim explain`: says why a thing of a world is as it is, and what happens to it next. */

import type { Argv } from 'yargs'
import { escapeControls } from '../../lib/text/control-characters.ts'
import type { Explanation } from '../../simulator/explain/explanation.ts'
import { formatExplanation } from '../../simulator/explain/text.ts'
import { EXIT_CODES } from '../command.ts'
import { askServer, type ServerArguments, serverFlags } from '../server-client.ts'
import { outerFlags, toggle } from '../values.ts'

export const command = 'explain <subject>'
export const example = 'explain h100-0'
export const describe =
  'Explain a thing or a request: what decided its state, its causes and effects, and what comes next'

export interface ExplainArguments extends ServerArguments {
  subject: string
  json?: boolean | undefined
}

export function builder(argv: Argv): Argv<ExplainArguments> {
  return outerFlags(argv, { ...serverFlags(), json: toggle('json', 'Print one JSON object') })
    .positional('subject', {
      type: 'string',
      describe: 'An id, a name, a request as in "request 4", or a position in the journal',
    })
    .example('$0 explain "request 4"', 'the fourth request of a server on this machine')
    .epilogue(EXIT_CODES) as unknown as Argv<ExplainArguments>
}

export async function handler({ subject, json, ...server }: ExplainArguments): Promise<void> {
  const path = `explain/${encodeURIComponent(subject)}`
  const explanation = await askServer<Explanation>(server, path, 'an explanation', 'sentences')
  process.stdout.write(
    json ? `${JSON.stringify(explanation, null, 2)}\n` : escapeControls(formatExplanation(explanation)),
  )
}
