import type { Simulator } from '../../src/simulator/simulator.ts'
import { formOf, sendTo } from './send-to.ts'

const CHAT = '/v1/chat/completions'

/** The form of an upload for a batch. */
export const batchFile = (content: BlobPart, name = 'in.jsonl') =>
  formOf({ purpose: 'batch', file: new File([content], name) })

/** A line of a batch. */
export const batchLine = (custom_id: string, body: object, url = CHAT) => ({ custom_id, method: 'POST', url, body })

/** Returns the rows of a file of JSON lines. */
// biome-ignore lint/suspicious/noExplicitAny: whatever the file has
export const rowsOf = <Row = any>(text: string): Row[] =>
  text.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line)]))

/** Uploads the lines and creates a batch of them at the endpoint of the first. Returns its record. */
export async function startBatch(
  sim: Pick<Simulator, 'fetch' | 'token'>,
  lines: readonly { readonly url: string }[],
): Promise<{ readonly id: string }> {
  const content = lines.map(line => JSON.stringify(line)).join('\n')
  const file = await (await sendTo(sim, 'POST /v1/files', batchFile(content))).json()
  const spec = { input_file_id: file.id, endpoint: lines[0]!.url, completion_window: '24h' }
  const answer = await sendTo(sim, 'POST /v1/batches', spec)
  if (!answer.ok) throw new Error(await answer.text())
  return answer.json()
}
