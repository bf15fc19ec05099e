/// <reference lib="esnext.disposable" preserve="true" />
/** Starts recordings: in memory, or to a file that is complete up to its last line at any moment. */

import { describeFileError } from '../../lib/errors.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { quote } from '../../lib/quote.ts'
import { setRealTimeout } from '../../lib/real-time.ts'
import type { Simulator } from '../simulator-interface.ts'
import { RecordingError } from './file.ts'
import { createHeader } from './header.ts'
import { LineWriter } from './line-writer.ts'
import { Recorder, type RecordingSink } from './recorder.ts'

/**
 * Real milliseconds in which lines are collected for one write: a write costs as much as a request. A killed process
 * loses at most the lines of that time.
 */
const FLUSH_MS = 20

/** Options of a recording. */
export interface RecordOptions {
  /** The path of a new file, which only its owner can read. Default: the recording is kept in memory. Needs Node. */
  readonly file?: string | undefined
}

/** A recording of a simulator: every request, command and fault from its begin on. It contains prompts. */
export interface Recording {
  /** The lines so far, for a file or `replay`. A complete recording is stopped before. */
  readonly text: string
  /** The path of the file; undefined for a recording in memory. */
  readonly file: string | undefined
  /** Ends the recording with the digest of the world. Does nothing if it has ended. */
  stop(): void
  /** Stops the recording. `using recording = sim.record()` calls it at the end of the block. */
  [Symbol.dispose](): void
}

/**
 * Records what reaches a simulator from now on.
 *
 * @throws RangeError if a recording of the simulator is in progress, RecordingError if the file exists or cannot be
 *   written
 */
export function recordSimulator(sim: Simulator, options: RecordOptions = {}): Recording {
  assertKnownKeys(options, ['file'], 'Failed to record')
  const { file } = options
  if (file !== undefined && (typeof file !== 'string' || file === '')) {
    throw new RangeError(`Failed to record: file is ${quote(file)}. Give the path of a new file, or leave file out.`)
  }
  return file === undefined ? recordInMemory(sim) : recordToFile(sim, file)
}

function recordInMemory(sim: Simulator): Recording {
  let text = ''
  const write = (lines: string) => {
    text += lines
  }
  return startRecording(sim, write, { read: () => text })
}

function recordToFile(sim: Simulator, file: string): Recording {
  const fs = globalThis.process?.getBuiltinModule?.('node:fs')
  if (fs === undefined) {
    throw new RecordingError(`Failed to record to '${file}': files need Node. Leave file out, and read text.`)
  }
  let handle: number
  try {
    handle = fs.openSync(file, 'wx', 0o600)
  } catch (error) {
    const exists = (error as { code?: string }).code === 'EEXIST'
    const what = fs.statSync(file, { throwIfNoEntry: false })?.isDirectory() ? 'it is a folder' : 'the file exists'
    const problem = exists ? what : describeFileError(error)
    throw new RecordingError(`Failed to record to '${file}': ${problem}. Give the path of a new file.`)
  }
  let isOpen = true
  const write = (text: string) => {
    if (!isOpen) return
    try {
      fs.writeSync(handle, text)
    } catch (error) {
      // A full disk must not break the answers of the simulator.
      isOpen = false
      fs.closeSync(handle)
      console.warn(
        `modelhost-sim: Failed to record to '${file}': ${describeFileError(error)}. The recording is cut off.`,
      )
    }
  }
  const close = () => {
    if (isOpen) fs.closeSync(handle)
    isOpen = false
  }
  const read = () => {
    try {
      return fs.readFileSync(file, 'utf8')
    } catch (error) {
      throw new RecordingError(
        `Failed to read the recording '${file}': ${describeFileError(error)}. Read text before the file is moved or deleted.`,
      )
    }
  }
  try {
    return startRecording(sim, write, { file, read, close, isFlushed: true })
  } catch (error) {
    close()
    fs.unlinkSync(file)
    throw error
  }
}

/** Where a recording is kept. */
interface Storage {
  readonly file?: string
  /** Whether lines are written soon after they come. Default: when the text is read. */
  readonly isFlushed?: true
  /** Returns what was written. */
  read(): string
  close?(): void
}

/** @param write writes whole lines */
function startRecording(
  sim: Simulator,
  write: (text: string) => void,
  { file, isFlushed, read, close }: Storage,
): Recording {
  const flushSoon = () => setRealTimeout(() => writer.flush(), FLUSH_MS, 'held')
  const writer = new LineWriter(write, isFlushed && flushSoon)
  let sink: RecordingSink | undefined
  const recorder = Recorder.attach(sim, at => {
    const header = createHeader(sim)
    writer.add({ ...header, at })
    const needsResetState = header.snapshot !== undefined
    sink = { kind: 'recording', needsResetState, add: line => writer.add(line) }
    return sink
  })
  const stop = () => {
    if (sink !== undefined) {
      sink.add({ digest: sim.digest, at: recorder.position })
      recorder.remove(sink)
      sink = undefined
      writer.flush()
    }
    close?.()
  }
  return {
    file,
    get text() {
      writer.flush()
      return read()
    },
    stop,
    [Symbol.dispose]: stop,
  }
}
