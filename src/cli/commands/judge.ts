/** `modelhost-sim judge`: says what the clients of a running server, or of a recording, did wrong. */

import { statSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { given } from '../../lib/fields.ts'
import { escapeXml, shellQuote, xmlAttribute } from '../../lib/quote.ts'
import { DEFAULT_HOST, DEFAULT_PORT } from '../../server/http/server.ts'
import type { ParsedRecording } from '../../simulator/history/file.ts'
import { readRecording } from '../../simulator/history/read-recording.ts'
import { replayRecording } from '../../simulator/history/replay/perform-lines.ts'
import type { JudgeFinding, Judgement, JudgeOptions } from '../../simulator/judge/judgement.ts'
import type { ConductRule } from '../../simulator/judge/rule.ts'
import { chooseRules, unknownRule } from '../../simulator/judge/rule-choice.ts'
import { CONDUCT_RULE_NAMES } from '../../simulator/judge/rules/conduct/index.ts'
import { formatJudgement, nameClient } from '../../simulator/judge/text.ts'
import { JudgedWorlds } from '../../simulator/judge/worlds.ts'
import type { Simulator } from '../../simulator/simulator-interface.ts'
import { importScript, LoadError } from '../../workbench/scenario/runner/import-script.ts'
import { UsageError } from '../command.ts'
import { requireWritable, writeTextFile } from '../files/output-file.ts'
import { type ArgumentsOf, flag, output, toggle } from '../flags.ts'
import { endpointsAdvice, endpointsFile, partial, withProjectEndpoints } from '../recording-files.ts'
import { askServer, SERVER_FLAGS } from '../server-client.ts'
import { positive, texts } from '../values.ts'

const DEFAULT_URL = `http://${DEFAULT_HOST}:${DEFAULT_PORT}`

export const command = 'judge [recording]'
export const example = 'judge --fail-on looksBeforeCreate'
export const describe =
  'Judge the conduct of the clients of a server or a recording: retries, polls, what they left running'

export const insteadOfServer = ['recording']

export const flags = {
  ...SERVER_FLAGS,
  url: flag(`URL of the server, or the base_url of one of its worlds. Default: ${DEFAULT_URL}`),
  rules: flag('Module that exports rules of your own, for a recording'),
  off: flag('Rules that are not applied, with commas', texts),
  'fail-on': flag('Rules whose findings fail, with commas; any, or none. Default: any', texts),
  keep: flag('Ids of things that may go on, with commas', texts),
  'polls-at-most': flag('Advised number of reads of one thing in a second. Default: 1', positive(1e6, 0.5)),
  client: flag('The client with this token, by id or name. Default: all'),
  junit: output('Also write the findings to this file, in the format of JUnit'),
  json: toggle('Print one JSON object'),
  partial,
  config: endpointsFile,
}
export const positional = {
  recording: { type: 'string', describe: 'A file of serve --record or sim.record(), in place of a server' },
} as const
export const examples = [
  ['$0 judge', 'every client of a server on this machine'],
  ['$0 judge run.ndjson --rules rules.ts', 'the clients of a recording, with rules of your own'],
  ['$0 judge --fail-on looksBeforeCreate,leavesNothingRunning', 'only these rules fail'],
]
export const epilogue = 'Exit codes: 0 nothing that fails, 1 findings that fail, 2 could not run, or not to the end.'

type JudgeArguments = ArgumentsOf<typeof flags> & { recording?: string }

export async function handler(args: JudgeArguments): Promise<void> {
  const { junit, json } = args
  if (args.config !== undefined && args.recording === undefined) {
    throw new UsageError('Failed to judge a server: --config is for a recording. Leave it out, or give a recording.')
  }
  if (junit !== undefined) requireWritable(junit, 'junit')
  const own = args.rules === undefined ? undefined : await loadOwnRules(args.rules, process.cwd())
  const off = readOff(args.off, [...(own?.keys() ?? [])])
  const fails = readFailOn(args.failOn, [...(own?.keys() ?? [])], off)
  for (const name of off) own?.delete(name)
  const { judgement, problem } = await (args.recording === undefined
    ? judgeServer({ ...args, off })
    : judgeFile(args.recording, { ...args, off }, own))
  process.stdout.write(json ? `${JSON.stringify(judgement, null, 2)}\n` : formatJudgement(judgement))
  if (junit !== undefined) writeTextFile(junit, formatJudgementJunit(judgement, fails), 'junit')
  if (problem !== undefined) process.stderr.write(`${problem}\n`)
  process.exitCode = judgement.findings.some(fails) ? 1 : problem === undefined ? 0 : 2
}

/** A judgement, and why it is not complete; undefined if it is. */
interface CliJudgement {
  readonly judgement: Judgement
  readonly problem: string | undefined
}

/** Returns the rules that are not applied. */
function readOff(names: string[] = [], own: readonly string[]): string[] {
  for (const name of names) requireRule(name, 'Failed to read --off', own)
  return names
}

function requireRule(name: string, context: string, own: readonly string[]): void {
  if (own.includes(name) || isConductRule(name)) return
  throw new UsageError(unknownRule(name, context, own).message)
}

/** Returns whether a rule is one of the package. */
function isConductRule(name: string): boolean {
  return (CONDUCT_RULE_NAMES as readonly string[]).includes(name)
}

/** Returns which findings fail. */
function readFailOn(
  names: readonly string[] = ['any'],
  own: readonly string[],
  off: readonly string[],
): (finding: JudgeFinding) => boolean {
  const [first] = names
  if (first === undefined) {
    throw new UsageError('Failed to read --fail-on: it names no rule. Give rules with commas, any, or none.')
  }
  if (names.length === 1 && first === 'any') return () => true
  if (names.length === 1 && first === 'none') return () => false
  for (const name of names) {
    if (name === 'any' || name === 'none') {
      throw new UsageError(
        `Failed to read --fail-on: '${name}' is given beside other words. Give rules with commas, any, or none.`,
      )
    }
    requireRule(name, 'Failed to read --fail-on', own)
    if (!off.includes(name)) continue
    throw new UsageError(`Failed to read --fail-on: --off turns the rule ${name} off. Remove it from one of them.`)
  }
  return ({ rule }) => names.includes(rule)
}

/** Judges a recording. A recording without an end is judged as far as it goes. Without --partial, that is a problem. */
async function judgeFile(
  file: string,
  { url, off = [], keep, pollsAtMost, client, partial, config }: JudgeArguments,
  own: ReadonlyMap<string, ConductRule> = new Map(),
): Promise<CliJudgement> {
  if (url !== undefined) {
    throw new UsageError(`Failed to judge '${file}': --url is for a server. Leave out the file, or --url.`)
  }
  const rulesOff = off.filter(isConductRule).map(name => [name, false] as const)
  const recording = await withProjectEndpoints(readRecording(file), config)
  const { judgement, cut } = await judgeRecording(recording, shellQuote(file), {
    rules: { ...Object.fromEntries(rulesOff), ...Object.fromEntries(own) },
    ...given({ keep, pollsAtMost, client }),
  })
  if (cut === undefined || partial) return { judgement, problem: noteOfSilence(judgement) }
  const problem = `Failed to judge ${shellQuote(file)} to its end: ${cut}. To accept it, give --partial.`
  return { judgement, problem }
}

/** Says that there was nothing to judge; undefined if there was. */
function noteOfSilence({ clients, dropped }: Judgement): string | undefined {
  if (clients.length > 0 || dropped > 0) return undefined
  return 'Failed to judge: no client has sent a request. Check the address and the token of your client.'
}

/** Asks the server for its judgement. */
async function judgeServer({ url = DEFAULT_URL, controlToken, ...args }: JudgeArguments): Promise<CliJudgement> {
  const { rules, off = [], keep, pollsAtMost, client } = args
  if (rules !== undefined) {
    throw new UsageError('Failed to judge a server: --rules needs a recording. Give a file of serve --record.')
  }
  const query = new URLSearchParams({
    ...(off.length > 0 && { off: off.join(',') }),
    ...given({ keep: keep?.join(','), pollsAtMost: pollsAtMost?.toString(), client }),
  })
  const judgement = await askServer<Judgement>({ url, controlToken }, `judge?${query}`, 'a judgement', 'findings')
  return { judgement, problem: noteOfSilence(judgement) }
}

/** Returns a JUnit document: a test for each rule, which fails with its findings. Findings that do not count are output. */
function formatJudgementJunit(
  { findings, rules, clients }: Judgement,
  fails: (finding: JudgeFinding) => boolean,
): string {
  const textOf = (finding: JudgeFinding) =>
    [
      `${nameClient(finding.client, clients)}${finding.world === undefined ? '' : `, world ${finding.world}`}: ${finding.words}`,
      ...finding.evidence,
      `What to do: ${finding.advice}`,
    ].join('\n')
  const cases = rules.map(rule => {
    const found = findings.filter(finding => finding.rule === rule)
    const open = `    <testcase classname="judge" name=${xmlAttribute(rule)}`
    if (found.length === 0) return `${open}/>\n`
    const text = escapeXml(found.map(textOf).join('\n\n'))
    const words = xmlAttribute(found[0]!.words)
    const inner = found.some(fails) ? `<failure message=${words}>${text}</failure>` : `<system-out>${text}</system-out>`
    return `${open}>\n      ${inner}\n    </testcase>\n`
  })
  const failures = rules.filter(rule => findings.some(finding => finding.rule === rule && fails(finding))).length
  const suite = `  <testsuite name="judge" tests="${rules.length}" failures="${failures}">\n${cases.join('')}  </testsuite>\n`
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="modelhost-sim judge">\n${suite}</testsuites>\n`
}

/**
 * Loads the rules of a module: its exports with a check, and those of its default export, each by its name.
 *
 * @throws LoadError for a missing file, a module without a rule, and a rule that is not complete
 */
async function loadOwnRules(path: string, folder: string): Promise<Map<string, ConductRule>> {
  const file = resolve(folder, path)
  const name = relative(folder, file)
  const entry = statSync(file, { throwIfNoEntry: false })
  if (!entry?.isFile()) {
    const reason = entry === undefined ? 'the file is missing' : 'it is not a file'
    throw new LoadError(`Failed to read --rules ${shellQuote(path)}: ${reason}. Give a module that exports rules.`)
  }
  const { default: ofDefault, ...exports } = await importScript(file, folder)
  if (isCheck(ofDefault)) {
    throw new LoadError(
      `Failed to load the rules of ${name}: its default export is a rule, which has no name there. ` +
        'Export it by name, as in: export const myRule = defineRule({ … }).',
    )
  }
  const candidates = { ...(typeof ofDefault === 'object' ? ofDefault : {}), ...exports }
  const own = Object.fromEntries(Object.entries(candidates).filter(([, value]) => isCheck(value)))
  if (Object.keys(own).length === 0) {
    throw new LoadError(
      `Failed to load the rules of ${name}: it exports no rule. Export one, as in: export const myRule = defineRule({ … }).`,
    )
  }
  try {
    const rules = chooseRules(own as Record<string, ConductRule>, `Failed to load the rules of ${name}`)
    return new Map([...rules].filter(([rule]) => !isConductRule(rule)))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new LoadError(error.message, { cause: error })
  }
}

function isCheck(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'check' in value
}

/**
 * Replays a recording, and judges its clients: those of each world, at its end. `cut` says why the recording has no end.
 *
 * @throws RecordingError for an invalid recording, UsageError for one whose replay differs, and for invalid options
 */
async function judgeRecording(recording: ParsedRecording, what: string, options: JudgeOptions) {
  const worlds = new JudgedWorlds(options)
  let replayed: Simulator | undefined
  const { divergence, cut } = await replayRecording(recording, what, {
    onBegin: sim => {
      replayed = sim
    },
    onBeforeAction: ({ do: name }) => {
      if (name === 'reset' || name === 'restore') asUsage(() => worlds.add(replayed!))
    },
  })
  if (divergence !== undefined) {
    const problem = `Failed to judge ${what}: its replay differs at line ${divergence.line}. See what differs with modelhost-sim replay ${what}.`
    throw new UsageError([problem, ...endpointsAdvice(divergence)].join(' '))
  }
  return { judgement: asUsage(() => worlds.conclude(replayed!)), cut }
}

/** Calls a function. Its RangeError is a mistake of the user. */
function asUsage<Result>(call: () => Result): Result {
  try {
    return call()
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message) : error
  }
}
