/** Values that tell what read them when they change. */

/** Something that runs again when a signal that it read changes. */
interface Reader {
  readonly run: () => void
  /** The readers of each signal that it read in its newest run. */
  readonly read: Set<Set<Reader>>
}

/** What runs now, and so follows the signals that are read. */
let running: Reader | undefined
/** How many batches are open, one within the other. */
let batches = 0
/** What runs again at the end of the batch. */
let waiting: readonly Reader[] = []

export class Signal<Value> {
  #value: Value
  readonly #readers = new Set<Reader>()

  constructor(value: Value) {
    this.#value = value
  }

  /** The value. What reads it here follows its changes. */
  get value(): Value {
    if (running !== undefined) {
      this.#readers.add(running)
      running.read.add(this.#readers)
    }
    return this.#value
  }

  set value(value: Value) {
    if (value === this.#value) return
    this.#value = value
    batch(() => {
      waiting = [...new Set([...waiting, ...this.#readers])]
    })
  }

  /** Returns the value without following it. */
  peek(): Value {
    return this.#value
  }

  /** Calls a function with the value now and after each change. It follows nothing else. Returns what ends that. */
  subscribe(act: (value: Value) => void): () => void {
    return effect(() => {
      const { value } = this
      runAs(undefined, () => act(value))
    })
  }
}

export function signal<Value>(value: Value): Signal<Value> {
  return new Signal(value)
}

/** Returns a signal whose value is that of a function of other signals. */
export function computed<Value>(compute: () => Value): Signal<Value> {
  const computedSignal = new Signal<Value>(undefined as Value)
  effect(() => {
    computedSignal.value = compute()
  })
  return computedSignal
}

/** Runs a function now, and again after each change of a signal that it read. Returns what ends that. */
export function effect(act: () => void): () => void {
  const reader: Reader = {
    run: () => {
      forget(reader)
      runAs(reader, act)
    },
    read: new Set(),
  }
  reader.run()
  return () => forget(reader)
}

/** Changes several signals. What read them runs once, at the end. */
export function batch(act: () => void): void {
  batches++
  try {
    act()
  } finally {
    batches--
    while (batches === 0 && waiting.length > 0) waiting[0]!.run()
  }
}

function runAs(reader: Reader | undefined, act: () => void): void {
  const before = running
  running = reader
  try {
    act()
  } finally {
    running = before
  }
}

function forget(reader: Reader): void {
  waiting = waiting.filter(each => each !== reader)
  for (const readers of reader.read) readers.delete(reader)
  reader.read.clear()
}
