/** The lines of a batch in columns: as objects, those of 50,000 lines take three times the memory. */
import type { EntityKey } from '../../kernel/random.ts'
import type { LineAnswer, LineError } from './line-answering.ts'

/** A line as it is kept until it is written. */
export interface BatchLine extends Pick<LineAnswer, 'key' | 'choices' | 'serviceTier'> {
  /** Its position in the input among the lines with a request, from 0. */
  readonly inputIndex: number
  readonly customId: string
  readonly error: LineError | undefined
}

/** A column that most batches do not need: undefined before its first value. */
type RareColumn<Value> = (Value | undefined)[] | undefined

/**
 * The lines of a batch, in the order in which they run and are written. It is not that of the input. They never change
 * after validation, so forks share them. A snapshot has the fields, so none is private.
 */
export class BatchLines {
  /** The position in the input of each line. The other columns have the order of the input. */
  inputIndexes = new Int32Array(0)
  readonly customIds: string[] = []
  /** Two words of each key. */
  readonly keys: Uint32Array
  /** Which lines have a key. */
  readonly isDrawn: Uint8Array
  choices: RareColumn<string>
  serviceTiers: RareColumn<string>
  errors: RareColumn<LineError>

  /** @param maxLength the maximum number of lines */
  constructor(maxLength: number) {
    this.keys = new Uint32Array(2 * maxLength)
    this.isDrawn = new Uint8Array(maxLength)
  }

  get length(): number {
    return this.inputIndexes.length
  }

  /** Adds a line after those of the input so far. The lines run once they are in order. */
  add(customId: string, { key, choices, serviceTier }: LineAnswer, error: LineError | undefined): void {
    const at = this.customIds.length
    this.customIds.push(customId)
    if (key !== undefined) {
      this.isDrawn[at] = 1
      this.keys[2 * at] = key.hi
      this.keys[2 * at + 1] = key.lo
    }
    this.choices = withValue(this.choices, at, choices)
    this.serviceTiers = withValue(this.serviceTiers, at, serviceTier)
    this.errors = withValue(this.errors, at, error)
  }

  /** Sets the order in which the lines run. `shuffle` changes that of the input. */
  order(shuffle: (order: Int32Array) => void): this {
    this.inputIndexes = Int32Array.from(this.customIds.keys())
    shuffle(this.inputIndexes)
    return this
  }

  /** Returns the line that runs at a position, from 0. */
  at(position: number): BatchLine {
    const inputIndex = this.inputIndexes[position]!
    return {
      inputIndex,
      customId: this.customIds[inputIndex]!,
      key: keyOf(this, inputIndex),
      choices: this.choices?.[inputIndex],
      serviceTier: this.serviceTiers?.[inputIndex],
      error: this.errors?.[inputIndex],
    }
  }

  /** Returns the error of the line that runs at a position; undefined for a line that does not fail. */
  errorOf(position: number): LineError | undefined {
    return this.errors?.[this.inputIndexes[position]!]
  }

  /** Returns the position at which a line runs; -1 for an unknown custom id. */
  positionOf(customId: string): number {
    const inputIndex = this.customIds.indexOf(customId)
    return inputIndex < 0 ? -1 : this.inputIndexes.indexOf(inputIndex)
  }
}

function keyOf({ isDrawn, keys }: BatchLines, inputIndex: number): EntityKey | undefined {
  return isDrawn[inputIndex] === 0 ? undefined : { hi: keys[2 * inputIndex]!, lo: keys[2 * inputIndex + 1]! }
}

/** Returns a column of the values of each line up to `at`. Without a value so far, it is undefined. */
function withValue<Value>(column: RareColumn<Value>, at: number, value: Value | undefined): RareColumn<Value> {
  if (column === undefined && value === undefined) return undefined
  const values = column ?? new Array<Value | undefined>(at).fill(undefined)
  values.push(value)
  return values
}
