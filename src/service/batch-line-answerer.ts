/** The answerer of batch lines. What it does with a line is loaded with the first one. */
import type { Profile } from '../data/profiles/schema.ts'
import type { Chance } from '../kernel/random.ts'
import type { BatchEndpoint, InvalidBody } from '../simulation/batches/input-lines.ts'
import type {
  LineAnswer,
  LineAnswerer,
  LineError,
  OutputLine,
  ResolvedLine,
} from '../simulation/batches/line-answering.ts'
import type { World } from '../simulation/world.ts'
import * as lines from './openai/batch-answers.ts'
import { ScriptedAnswers } from './openai/scripted-answers.ts'
import { getTokenCounter } from './openai/tokenizer.ts'

type LineBody = Readonly<Record<string, unknown>>

/** Answers the batch lines of a simulator with scripted answers, else with generated ones. */
export class BatchLineAnswerer implements LineAnswerer {
  readonly #scripted: ScriptedAnswers
  /**
   * Default: no rule fails a line.
   *
   * @internal
   */
  faults: lines.LineRules | undefined
  readonly isStrict: boolean
  readonly toInternalLine: LineAnswerer['toInternalLine']

  /**
   * @param isStrict whether unknown fields are refused
   * @param toInternalLine returns a line with neutral names. Default: lines have no other names
   */
  constructor(scripted: ScriptedAnswers, isStrict: boolean, toInternalLine?: LineAnswerer['toInternalLine']) {
    this.#scripted = scripted
    this.isStrict = isStrict
    this.toInternalLine = toInternalLine
  }

  get isReady(): boolean {
    return getTokenCounter() !== undefined
  }

  fork(): BatchLineAnswerer {
    const scripted = new ScriptedAnswers()
    scripted.restore(this.#scripted.state)
    const fork = new BatchLineAnswerer(scripted, this.isStrict, this.toInternalLine)
    fork.faults = this.faults?.fork()
    return fork
  }

  unscripted(): BatchLineAnswerer {
    return new BatchLineAnswerer(new ScriptedAnswers(), this.isStrict, this.toInternalLine)
  }

  adopt(fork: BatchLineAnswerer, batch: string): void {
    this.#scripted.restore(fork.#scripted.state)
    this.faults?.adopt(fork.faults!, batch)
  }

  validate(
    endpoint: BatchEndpoint,
    body: LineBody,
    policies: Profile['policies'],
  ): InvalidBody | LineError | undefined {
    return lines.validateLine(endpoint, body, { policies, isStrict: this.isStrict })
  }

  parse(endpoint: BatchEndpoint, body: LineBody): unknown {
    return lines.parseSharedLine(endpoint, body)
  }

  answer(world: World, line: ResolvedLine): LineAnswer | LineError | InvalidBody {
    const rules = { policies: world.profile.policies, isStrict: this.isStrict }
    return lines.answerLine(world, line, rules, (model, words) => this.#scripted.takeAnswer(model, words), this.faults)
  }

  body(chance: Chance, line: OutputLine): unknown {
    return lines.bodyOfLine(chance, line)
  }
}
