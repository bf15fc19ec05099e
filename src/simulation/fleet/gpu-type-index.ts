import { freeGpus, type NodeRow, workingGpus } from './node-row.ts'

/** The maximum number of GPUs of a node. */
export const MAX_GPUS = 16

/** The nodes of one GPU type, as parallel arrays for the search of a node. */
export interface GpuTypeIndex {
  /** Ordinals of the nodes, ascending. */
  readonly ordinals: Int32Array
  /** The free GPUs of each node. */
  readonly free: Uint8Array
  /** The working GPUs of each node. */
  readonly up: Uint8Array
  /** The number of nodes by their number of free GPUs. */
  readonly counts: Int32Array
}

/** Builds the index of the nodes with these ordinals, in ascending order. */
export function buildGpuTypeIndex(
  ordinals: readonly number[],
  read: (ordinal: number) => Readonly<NodeRow>,
): GpuTypeIndex {
  const free = Uint8Array.from(ordinals, ordinal => freeGpus(read(ordinal)))
  const counts = new Int32Array(MAX_GPUS + 1)
  for (const level of free) counts[level] = counts[level]! + 1
  const up = Uint8Array.from(ordinals, ordinal => workingGpus(read(ordinal)))
  return { ordinals: Int32Array.from(ordinals), free, up, counts }
}

/** Copies an index for a fork. The ordinals are immutable and shared. */
export function copyGpuTypeIndex(index: GpuTypeIndex): GpuTypeIndex {
  return { ...index, free: index.free.slice(), up: index.up.slice(), counts: index.counts.slice() }
}

/** Updates the free and working GPUs of a node. Returns whether the number of working GPUs changed. */
export function updateGpuTypeIndex(index: GpuTypeIndex, ordinal: number, row: Readonly<NodeRow>): boolean {
  const { free, up, counts } = index
  const position = positionOf(index.ordinals, ordinal)
  const previousFree = free[position]!
  const nextFree = freeGpus(row)
  free[position] = nextFree
  counts[previousFree] = counts[previousFree]! - 1
  counts[nextFree] = counts[nextFree]! + 1
  const nextUp = workingGpus(row)
  if (up[position] === nextUp) return false
  up[position] = nextUp
  return true
}

/** Returns the position of a value by binary search. */
function positionOf(sorted: Int32Array, value: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}
