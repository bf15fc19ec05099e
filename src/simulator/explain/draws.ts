/** The draws of the weather that decided an entry, with their chances and the drawn numbers, in sentences. */

import { formatDuration } from '../../kernel/duration.ts'
import type { Entry } from '../../kernel/journal.ts'
import { drawBatchWait, weatherPack } from '../../simulation/account/chaos-draws.ts'
import type { World } from '../../simulation/world.ts'
import { formatValue } from './sentence.ts'

/** Returns the sentences about the draws that decided the entries of a chain: of each kind, those of the nearest entry. */
export function describeDraws(world: World, chain: readonly Entry[]): readonly string[] {
  const nearest = new Map<string, readonly string[]>()
  for (const entry of chain) {
    if (!nearest.has(entry.kind)) nearest.set(entry.kind, describeDrawsOf(world, entry))
  }
  return [...new Set([...nearest.values()].flat())]
}

function describeDrawsOf(world: World, { kind, subject, fields }: Entry): readonly string[] {
  const { draw } = fields ?? {}
  if (kind === 'batch.waiting' || kind === 'batch.capacityCame') return describeBatchWait(world, subject)
  const pack = weatherPack(world)
  if (pack === undefined || draw === undefined) return []
  if (kind === 'topup.declined') {
    return [
      `The card is good. The draw weather.topupDeclined was ${draw}, below its chance of ${toChance(pack.topupDeclined)}.`,
    ]
  }
  if (kind === 'topup.begun') {
    return [
      `The draw weather.topupDelayed was ${draw}, below its chance of ${toChance(pack.topupDelayed)}. ` +
        `The draw weather.topupDelay gave a delay of ${formatDuration(Number(fields?.delay_us))}.`,
    ]
  }
  return []
}

/** The journal has the class of the wait. Its draws are functions of the seed and the batch. */
function describeBatchWait(world: World, id: string): readonly string[] {
  const row = [...world.batches.entries()].find(([, batch]) => batch.id === id)?.[1]
  if (row === undefined) return []
  const { wait, duration, drawn } = drawBatchWait(world, row.key)
  if (drawn === undefined) return []
  const length =
    wait === 'forever'
      ? 'The batch waits until it expires.'
      : `The draw weather.batchWaits gave a wait of ${formatDuration(duration)}.`
  const share = `whose chance is ${toChance(drawn.share)}`
  return [
    `The draw weather.batchWait of ${formatValue(id)} was ${drawn.draw}. It gave the class ${wait}, ${share}. ${length}`,
  ]
}

/** Formats a probability with at most three digits. */
function toChance(probability: number): string {
  return String(Number(probability.toPrecision(3)))
}
