/** Which findings of a flow are known, and which known ones are gone. */

import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import type { ExplainedFinding, FlowReport } from '../../workbench/explore/explore-flow.ts'
import { mergeFindings, splitFinding } from '../../workbench/explore/report/merged-findings.ts'
import type { KnownFinding } from '../../workbench/scenario/documents/known-findings.ts'
import { UsageError } from '../command.ts'
import { KNOWN_FILE } from '../config.ts'
import { flag } from '../flags.ts'
import type { ExploredClient } from './scenario-files.ts'

export const KNOWN_FLAG = flag(`File of known findings, which do not fail. Default: ${KNOWN_FILE}, if there is one`)

/** The findings of a flow beside those that its project accepts for now. */
export interface SortedFindings {
  readonly fresh: readonly ExplainedFinding[]
  readonly known: readonly { readonly finding: ExplainedFinding; readonly entry: KnownFinding }[]
  /** Known findings that the exploration did not find again. Empty if it did not come to its end. */
  readonly gone: readonly KnownFinding[]
}

/** Known findings of a file. */
export class KnownFindings {
  readonly file: string
  readonly #entries: readonly KnownFinding[]

  private constructor(file: string, entries: readonly KnownFinding[]) {
    this.file = file
    this.#entries = entries
  }

  /**
   * Reads the given file, or `explore.known.yaml` if it is there.
   *
   * @throws UsageError with a line for each mistake in the file
   */
  static async read(given: string | undefined, folder: string): Promise<KnownFindings> {
    const file = given ?? KNOWN_FILE
    if (given === undefined && !existsSync(resolve(folder, file))) return new KnownFindings(file, [])
    // Loaded on demand: most explorations have no such file.
    const [{ readKnownFindings }, { DocumentError }] = await Promise.all([
      import('../../workbench/scenario/documents/known-findings.ts'),
      import('../../workbench/scenario/documents/problems.ts'),
    ])
    try {
      return new KnownFindings(file, readKnownFindings(resolve(folder, file), file))
    } catch (error) {
      if (error instanceof DocumentError) throw new UsageError(`Failed to read ${error.message}`)
      throw error
    }
  }

  /** Returns the entry of a finding; undefined if it is new. */
  find(flow: string, signature: string): KnownFinding | undefined {
    return this.#entries.find(entry => entry.flow === flow && entry.signature === signature)
  }

  /** Returns a line for each flow of the file that is not explored. It names the flow that was probably meant. */
  notes(explored: readonly ExploredClient[]): string[] {
    const names = new Set(explored.map(({ flow }) => flow.name))
    const others = new Set(this.#entries.map(({ flow }) => flow).filter(flow => !names.has(flow)))
    return [...others].map(other => {
      const ofFile = explored.find(({ file = '' }) => basename(file) === basename(other))
      const advice = formatSuggestion(ofFile?.flow.name ?? other, names, 'Its findings are not compared.')
      return `${this.file}: the flow '${other}' is not explored here. ${advice}\n`
    })
  }

  sort({ flow, findings, stoppedBecause }: FlowReport): SortedFindings {
    const ofFlow = this.#entries.filter(entry => entry.flow === flow)
    const entryOf = ({ signature }: ExplainedFinding) => this.find(flow, signature)
    const places = findings.flatMap(splitFinding)
    const found = new Set(places.map(({ signature }) => signature))
    const isComplete = stoppedBecause === 'done' || stoppedBecause === 'saturated'
    return {
      fresh: mergeFindings(places.filter(finding => entryOf(finding) === undefined)),
      known: places.flatMap(finding => {
        const entry = entryOf(finding)
        return entry === undefined ? [] : [{ finding, entry }]
      }),
      gone: isComplete ? ofFlow.filter(({ signature }) => !found.has(signature)) : [],
    }
  }
}
