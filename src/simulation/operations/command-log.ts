import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import { AppendLog } from '../../kernel/layered-map.ts'
import { NumberLog } from '../../kernel/number-log.ts'
import { countWhile } from '../../lib/lists.ts'

/** A command that was executed. */
export interface ExecutedCommand {
  readonly at: Micros
  readonly verb: string
  /** `''` for a command without a target. */
  readonly target: string
}

/** Kept commands: one block of a log. All of them are counted. */
const KEPT_COMMANDS = 1024

/** The commands that the user of a world executed, for reports. They are not part of the digest. */
export class CommandLog {
  readonly #commands = new AppendLog<ExecutedCommand>(KEPT_COMMANDS)
  readonly #times = new NumberLog(1)

  archive(archive: Archive): void {
    this.#commands.archive(archive)
    this.#times.archive(archive)
  }

  add(command: ExecutedCommand): void {
    this.#commands.push(command)
    this.#times.push([command.at])
  }

  /** Returns the number of commands after `after`, up to and including `to`, and the newest of them, oldest first. */
  between(after: Micros, to: Micros, maxListed: number): { count: number; newest: readonly ExecutedCommand[] } {
    const [start, end] = [this.#countUpTo(after), this.#countUpTo(to)]
    const newest: ExecutedCommand[] = []
    for (let i = Math.max(start, end - maxListed); i < end; i++) {
      const command = this.#commands.at(i)
      if (command !== undefined) newest.push(command)
    }
    return { count: end - start, newest }
  }

  /** Returns the number of commands up to and including a time. */
  #countUpTo(time: Micros): number {
    return countWhile(this.#times.length, index => this.#times.at(index, 0) <= time)
  }
}
