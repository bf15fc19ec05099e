/** The lines of a recording, in the order in which the world performed them. */

import type { Micros } from '../../kernel/duration.ts'
import type { ClockSetting } from '../clock/settings.ts'
import type { WireOutcome } from '../faults/wire-faults.ts'
import type { ControlAction } from '../observer.ts'
import type { SimulatorOptions } from '../options.ts'

/** The version of the file format. */
export const RECORDING_VERSION = 3

/** The time of the world in microseconds since its epoch, and the number of its events so far. */
export type Position = readonly [time: Micros, events: number]

/** Bytes as text, as Base64, or as their length and checksum if they are long. `null`: no body. */
export type RecordedBody =
  | string
  | { readonly base64: string }
  | { readonly bytes: number; readonly digest: string }
  | null

/** The first line: the world at its begin. */
export interface HeaderLine {
  readonly recording: number
  /** The version of the package. */
  readonly version: string
  /** What a reader of the file has to know. */
  readonly contains: string
  /** The name of the fixture of the world, also if the recording begins with a snapshot of it; `given` without a name. */
  readonly fixtures: string
  /** The checksum of the records of the fixture; missing with a snapshot. */
  readonly fixtureDigest?: string
  readonly seed: string
  /** The options of the simulator, without its clock. */
  readonly options: SimulatorOptions
  readonly clock: ClockSetting
  /** The state at the begin in Base64, if the recording does not begin at time zero. */
  readonly snapshot?: string
  readonly digest: string
  /** The number of journal entries so far. */
  readonly journal: number
  readonly at: Position
}

/** A request, at its first step in the world. */
export interface RequestLine {
  readonly request: number
  readonly at: Position
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Missing if no endpoint has read it yet. */
  readonly body?: RecordedBody
  /** Address of the client. Default: 127.0.0.1. */
  readonly address?: string
  /** The request waits for its first step: an action comes before it. */
  readonly arrived?: true
  /** A request that a move of the clock made, not a client. */
  readonly look?: true
  /** The answer, if nothing comes between. A reader of the file gets it as a line of its own. */
  readonly answered?: AnswerContent
}

/** A further step of a request: its fault rules were tried before. */
export interface StepLine {
  readonly step: number
  readonly at: Position
  readonly body?: RecordedBody
}

/** The answer to a request takes time on the clock of its client. */
export interface WaitLine {
  readonly waits: number
  readonly at: Position
}

/** A request that waited has its answer, or the head of it. Its body may still be read. */
export interface ReadyLine {
  readonly ready: number
  readonly at: Position
  readonly now?: Micros
}

/** The end of a request to a model, because its client has the answer (`served`) or leaves (`left`). */
export interface EndLine {
  readonly end: number
  readonly state: 'served' | 'left'
  readonly at: Position
  /** The time on the clock of its client, if it is another one. */
  readonly now?: Micros
}

/** A piece of a body that is sent while it is made. */
export interface ReadLine {
  readonly read: number
  readonly at: Position
  readonly now?: Micros
  readonly piece?: RecordedBody
  /** How the body ended, `left` if its client did not read on; missing for a piece. */
  readonly body?: 'over' | 'broken' | 'left'
}

/** The answer that left the world. The body of a stream comes in `read` lines. */
export interface AnswerLine {
  readonly answer: number
  readonly at: Position
  readonly now?: Micros
  /** 0 if the request ended without an answer. */
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: RecordedBody
  readonly streamed?: true
  /** What a wire fault does to the answer on its way. */
  readonly wire?: WireOutcome
}

/** What an answer is, without its place in the recording. */
export type AnswerContent = Omit<AnswerLine, 'answer' | 'at'>

/** A change that no request makes. */
export interface ActionLine {
  readonly action: ControlAction
  readonly at: Position
}

/** The last line. */
export interface DigestLine {
  readonly digest: string
  readonly at: Position
}

export type StepLines =
  | RequestLine
  | StepLine
  | WaitLine
  | ReadyLine
  | EndLine
  | ReadLine
  | AnswerLine
  | ActionLine
  | DigestLine

/** A line with its number in the file. */
export type Numbered<Line = StepLines> = Line & { readonly line: number }
