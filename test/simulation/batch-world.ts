import { ByteHash } from '../../src/kernel/random.ts'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { decodeLines } from '../../src/simulation/batches/files.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'

await loadTokenizer()

export const CATALOG = 'aurora-labs/aurora-8b-instruct'
/** A line of an input file. */
export const chat = (i: number, about: { model?: string; body?: object; line?: object } = {}) => ({
  custom_id: `line-${i}`,
  method: 'POST',
  url: '/v1/chat/completions',
  body: { model: about.model ?? CATALOG, messages: [{ role: 'user', content: `Question ${i}` }], ...about.body },
  ...about.line,
})

export function upload(sim: Simulator, lines: readonly unknown[]): string {
  const bytes = new TextEncoder().encode(
    lines.map(line => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  )
  const hash = new ByteHash()
  hash.update(bytes)
  return sim.world.files.create({
    filename: 'in.jsonl',
    purpose: 'batch',
    chunks: [bytes],
    bytes: bytes.length,
    hash: hash.digest(),
  }).id
}

export function batchOf(sim: Simulator, lines: readonly unknown[]) {
  return sim.world.batches.create({
    input_file_id: upload(sim, lines),
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    metadata: null,
  })
}

export type Line = {
  custom_id: string
  response: {
    body: { usage: Record<string, number>; choices: { message: { content: string }; finish_reason: string }[] }
  } | null
  error: { code: string } | null
}

export function linesIn(sim: Simulator, id: string | null): Line[] {
  return [...decodeLines(sim.world.files.get(id!)!.chunks())].map(line => JSON.parse(line) as Line)
}

export const many = (count: number, about = {}) => Array.from({ length: count }, (_, i) => chat(i, about))
