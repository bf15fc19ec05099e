/** What `simulate --openmetrics` writes, parsed. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { type SimulateArguments, simulate } from '../../src/cli/commands/simulate.ts'
import { HOUR } from '../../src/kernel/duration.ts'
import { type ParsedFamily, parseExposition } from '../simulation/metrics/exposition-parser.ts'
import { commandOutput } from './command-output.ts'

/** Unix seconds of the epoch of the world. */
export const EPOCH = 1_767_225_600

/** Returns a new folder, which the end of the test removes. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'openmetrics-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Simulates, and returns the families of the file. No other file is left. */
export async function recorded(args: Partial<SimulateArguments>): Promise<Map<string, ParsedFamily>> {
  const path = folder()
  const { output } = commandOutput()
  const openmetrics = join(path, 'metrics.txt')
  const all = { fixtures: 'fleet', profile: 'realistic', seed: '1', for: HOUR, openmetrics, ...args }
  expect(await simulate(all, output)).toBe(0)
  expect(readdirSync(path)).toEqual(['metrics.txt'])
  return parseExposition(readFileSync(openmetrics, 'utf8'), 'openmetrics')
}
