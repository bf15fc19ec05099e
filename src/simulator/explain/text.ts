/** An explanation as text, for terminals and the errors of matchers. */

import type { ExplainedEntry, Explanation } from './explanation.ts'

/** Formats an explanation: its sentences, then its causes, its effects and what comes next. */
export function formatExplanation({ subject, sentences, chain, effects, next }: Explanation): string {
  const lines = [subject, ...sentences.map(sentence => `  ${sentence}`)]
  if (chain.length > 0) lines.push('Causes, the nearest first:', ...chain.map(formatEntry))
  if (effects.length > 0) lines.push('Effects:', ...effects.map(formatEntry))
  if (next !== undefined) lines.push(`Next, in ${next.in} at ${next.at}:`, `  ${next.sentence}`)
  return `${lines.join('\n')}\n`
}

function formatEntry({ seq, at, sentence }: ExplainedEntry): string {
  return `  ${at} #${seq} ${sentence}`
}
