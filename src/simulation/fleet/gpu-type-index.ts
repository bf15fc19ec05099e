import { countWhile } from '../../lib/lists.ts'
import { freeGpus, gpusOfOthers, hasWeights, type NodeRow, workingGpus } from './node-row.ts'

/** The maximum number of GPUs of a node. */
const MAX_GPUS = 16

/** The nodes of one GPU type, as parallel arrays for the search of a node. */
export interface GpuTypeIndex {
  /** Ordinals of the nodes, ascending. */
  readonly ordinals: Int32Array
  /** The free GPUs of each node. */
  readonly free: Uint8Array
  /** The working GPUs of each node, without those of other customers, and those. */
  readonly up: Uint8Array
  readonly others: Uint8Array
  /** The number of nodes by their number of free GPUs. */
  readonly counts: Int32Array
  /** For each number of free GPUs, the positions of its nodes as bits. A search reads 32 nodes at once. */
  readonly levels: Int32Array
}

/** Builds the index of the nodes with these ordinals, in ascending order. */
export function buildGpuTypeIndex(
  ordinals: readonly number[],
  read: (ordinal: number) => Readonly<NodeRow>,
): GpuTypeIndex {
  const free = Uint8Array.from(ordinals, ordinal => freeGpus(read(ordinal)))
  const counts = new Int32Array(MAX_GPUS + 1)
  const words = wordsOf(ordinals.length)
  const levels = new Int32Array((MAX_GPUS + 1) * words)
  for (const [position, level] of free.entries()) {
    counts[level] = counts[level]! + 1
    flipBit(levels, level * words, position)
  }
  const up = Uint8Array.from(ordinals, ordinal => workingGpus(read(ordinal)))
  const others = Uint8Array.from(ordinals, ordinal => gpusOfOthers(read(ordinal)))
  return { ordinals: Int32Array.from(ordinals), free, up, others, counts, levels }
}

/** Returns the number of words of 32 bits for the positions of a level. */
function wordsOf(nodes: number): number {
  return (nodes + 31) >> 5
}

function flipBit(levels: Int32Array, firstWord: number, position: number): void {
  const word = firstWord + (position >> 5)
  levels[word] = levels[word]! ^ (1 << (position & 31))
}

/** Copies an index for a fork. The ordinals are immutable and shared. */
export function copyGpuTypeIndex(index: GpuTypeIndex): GpuTypeIndex {
  return {
    ...index,
    free: index.free.slice(),
    up: index.up.slice(),
    others: index.others.slice(),
    counts: index.counts.slice(),
    levels: index.levels.slice(),
  }
}

/** Updates the free and working GPUs of a node. Returns whether the number of working GPUs changed. */
export function updateGpuTypeIndex(index: GpuTypeIndex, ordinal: number, row: Readonly<NodeRow>): boolean {
  const { free, up, others, counts, levels } = index
  const position = countWhile(index.ordinals.length, at => index.ordinals[at]! < ordinal)
  const previousFree = free[position]!
  const nextFree = freeGpus(row)
  if (nextFree !== previousFree) {
    const words = wordsOf(free.length)
    free[position] = nextFree
    counts[previousFree] = counts[previousFree]! - 1
    counts[nextFree] = counts[nextFree]! + 1
    flipBit(levels, previousFree * words, position)
    flipBit(levels, nextFree * words, position)
  }
  const nextUp = workingGpus(row)
  const nextOthers = gpusOfOthers(row)
  if (up[position] === nextUp && others[position] === nextOthers) return false
  up[position] = nextUp
  others[position] = nextOthers
  return true
}

/** Counts the working GPUs of a type, those of them that are on spot nodes, and those of other customers. */
export function countWorkingGpus(
  { ordinals, up, others }: GpuTypeIndex,
  read: (ordinal: number) => Readonly<NodeRow>,
): [gpus: number, spotGpus: number, othersGpus: number] {
  let gpus = 0
  let spotGpus = 0
  let othersGpus = 0
  for (let i = 0; i < up.length; i++) {
    gpus += up[i]!
    othersGpus += others[i]!
    if (read(ordinals[i]!).group.market === 'spot') spotGpus += up[i]!
  }
  return [gpus, spotGpus, othersGpus]
}

/** Returns a node with enough free GPUs, by the rules of `Nodes.chooseNode`; -1 if it is missing. */
export function chooseFromIndex(
  index: GpuTypeIndex,
  read: (ordinal: number) => Readonly<NodeRow>,
  gpus: number,
  weights: string,
  spread: boolean,
): number {
  for (let step = 0; step <= MAX_GPUS - gpus; step++) {
    const level = spread ? MAX_GPUS - step : gpus + step
    const node = index.counts[level] === 0 ? -1 : chooseAtLevel(index, read, level, weights)
    if (node >= 0) return node
  }
  return -1
}

/** Returns a node with `level` free GPUs: one with the weights, else the first with free disk space; -1 if missing. */
function chooseAtLevel(
  { ordinals, free, levels }: GpuTypeIndex,
  read: (ordinal: number) => Readonly<NodeRow>,
  level: number,
  weights: string,
): number {
  let first = -1
  const words = wordsOf(free.length)
  for (let word = 0; word < words; word++) {
    for (let bits = levels[level * words + word]!; bits !== 0; bits &= bits - 1) {
      const ordinal = ordinals[word * 32 + 31 - Math.clz32(bits & -bits)]!
      const row = read(ordinal)
      if (weights !== '' && hasWeights(row, weights)) return ordinal
      if (first < 0 && !row.diskFull) first = ordinal
    }
  }
  return first
}
