/** The event queue one would write in ten minutes: a binary heap of objects. The naive fleet has it. */
export interface Planned {
  readonly time: number
  readonly serial: number
  readonly kind: number
  readonly subject: number
}

export class ObjectHeap {
  readonly #heap: Planned[] = []

  get nextTime(): number {
    return this.#heap[0]?.time ?? Number.POSITIVE_INFINITY
  }

  push(planned: Planned): void {
    const heap = this.#heap
    let place = heap.length
    heap.push(planned)
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!before(planned, heap[parent]!)) break
      heap[place] = heap[parent]!
      place = parent
    }
    heap[place] = planned
  }

  pop(): Planned | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return first
    let place = 0
    for (;;) {
      let child = place * 2 + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++
      if (!before(heap[child]!, last)) break
      heap[place] = heap[child]!
      place = child
    }
    heap[place] = last
    return first
  }
}

function before(one: Planned, other: Planned): boolean {
  return one.time < other.time || (one.time === other.time && one.serial < other.serial)
}
