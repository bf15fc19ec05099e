/** `modelhost-sim judge`: says what the clients of a running server, or of a recording, did wrong. */
import type { Argv } from 'yargs'
import { applyRules } from '../../../evidence/judge/apply-rules.ts'
import type { JudgeFinding, Judgement } from '../../../evidence/judge/judgement.ts'
import { unknownRule } from '../../../evidence/judge/rule-choice.ts'
import { formatJudgement } from '../../../evidence/judge/text.ts'
import type { Conduct } from '../../../evidence/observation.ts'
import type { ConductRule } from '../../../evidence/rule.ts'
import { CONDUCT_RULE_NAMES } from '../../../evidence/rules/conduct/index.ts'
import { LIMITS } from '../../../limits.ts'
import type { ReceivedRequest } from '../../../simulator/requests/request-log.ts'
import { DEFAULT_HOST, DEFAULT_PORT } from '../../../transports/http/server.ts'
import { UsageError } from '../../command.ts'
import { requireWritable, writeTextFile } from '../../files/output-file.ts'
import { judgeRecording } from '../../judge/judge-recording.ts'
import { loadOwnRules } from '../../judge/own-rules.ts'
import { formatJudgementJunit } from '../../judge/report.ts'
import { conductOfServer } from '../../judge/served-conduct.ts'
import { askServer, type ServerArguments, serverFlags } from '../../server-client.ts'
import { flag, requireKnownVariables, text, texts, toggle } from '../../values.ts'

const DEFAULT_URL = `http://${DEFAULT_HOST}:${DEFAULT_PORT}`

export const command = 'judge [recording]'
export const example = 'judge --fail-on looksBeforeCreate'
export const describe =
  'Judge the conduct of the clients of a server or a recording: retries, polls, what they left running'

export interface JudgeArguments {
  recording?: string | undefined
  url?: string | undefined
  controlToken?: string | undefined
  rules?: string | undefined
  off?: string[] | undefined
  failOn?: string[] | undefined
  keep?: string[] | undefined
  pollsAtMost?: string | undefined
  client?: string | undefined
  junit?: string | undefined
  json?: boolean | undefined
}

export function builder(argv: Argv): Argv<JudgeArguments> {
  const options = flags()
  return argv
    .positional('recording', {
      type: 'string',
      describe: 'A file of serve --record or sim.record(), in place of a server',
    })
    .options(options)
    .middleware(() => requireKnownVariables(Object.keys(options)))
    .example('$0 judge', 'every client of a server on this machine')
    .example('$0 judge run.ndjson --rules rules.ts', 'the clients of a recording, with rules of your own')
    .example('$0 judge --fail-on looksBeforeCreate,leavesNothingRunning', 'only these rules fail')
    .epilogue(
      `Each flag has an environment variable: MODELHOST_SIM_FLAG_NAME. A flag takes precedence.\n` +
        'Exit codes: 0 nothing that fails, 1 findings that fail, 2 could not run.',
    ) as unknown as Argv<JudgeArguments>
}

function flags() {
  const { url, ...others } = serverFlags()
  return {
    url: {
      ...flag('url', `URL of the server, or the base_url of one of its worlds. Default: ${DEFAULT_URL}`),
      coerce: url.coerce,
    },
    ...others,
    rules: {
      ...flag('rules', 'Module that exports rules of your own. With a server, they see the requests alone'),
      coerce: text('rules'),
    },
    off: { ...flag('off', 'Rules that are not applied, with commas'), coerce: listOf },
    'fail-on': {
      ...flag('fail-on', 'Rules whose findings fail, with commas; any, or none. Default: any'),
      coerce: listOf,
    },
    keep: { ...flag('keep', 'Ids of things that may go on, with commas'), coerce: listOf },
    'polls-at-most': {
      ...flag('polls-at-most', 'Reads of one thing in a second that are advised. Default: 1'),
      coerce: text('polls-at-most'),
    },
    client: { ...flag('client', 'The client with this token, by id or name. Default: all'), coerce: text('client') },
    junit: { ...flag('junit', 'Also write the findings to this file, in the format of JUnit'), coerce: text('junit') },
    json: toggle('json', 'Print one JSON object'),
  }
}

/** Reads a list with commas; undefined if it is not given. */
function listOf(given: unknown): string[] | undefined {
  return given === undefined ? undefined : texts(given)
}

export async function handler(args: JudgeArguments): Promise<void> {
  const { junit, json = false } = args
  if (junit !== undefined) requireWritable(junit, 'junit')
  const own = args.rules === undefined ? undefined : await loadOwnRules(args.rules, process.cwd())
  const fails = readFailOn(args.failOn, [...(own?.keys() ?? [])])
  const judgement = await (args.recording === undefined
    ? fetchJudgement(args, own)
    : judgeFile(args.recording, args, own))
  process.stdout.write(json ? `${JSON.stringify(judgement, null, 2)}\n` : formatJudgement(judgement))
  if (junit !== undefined) writeTextFile(junit, formatJudgementJunit(judgement, fails), 'junit')
  process.exitCode = judgement.findings.some(fails) ? 1 : 0
}

/** Returns which findings fail. */
function readFailOn(names: readonly string[] = ['any'], own: readonly string[]): (finding: JudgeFinding) => boolean {
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
    if (own.includes(name) || (CONDUCT_RULE_NAMES as readonly string[]).includes(name)) continue
    throw new UsageError(unknownRule(name, 'Failed to read --fail-on', own).message)
  }
  return ({ rule }) => names.includes(rule)
}

/** Judges a recording. A recording without an end is judged as far as it goes, with a note. */
async function judgeFile(
  file: string,
  { url, off = [], keep, pollsAtMost, client }: JudgeArguments,
  own: ReadonlyMap<string, ConductRule> = new Map(),
): Promise<Judgement> {
  if (url !== undefined) {
    throw new UsageError(`Failed to judge '${file}': --url is for a server. Leave out the file, or --url.`)
  }
  const { judgement, cut } = await judgeRecording(file, {
    rules: { ...Object.fromEntries(off.map(name => [name, false])), ...Object.fromEntries(own) },
    ...(keep !== undefined && { keep }),
    ...(pollsAtMost !== undefined && { pollsAtMost: Number(pollsAtMost) }),
    ...(client !== undefined && { client }),
  })
  if (cut !== undefined) process.stderr.write(`${file}: ${cut}. It was judged up to there.\n`)
  return judgement
}

/** Asks the server for its judgement, and applies the rules of the user to its requests. */
async function fetchJudgement(
  args: JudgeArguments,
  own: ReadonlyMap<string, ConductRule> | undefined,
): Promise<Judgement> {
  const { off, keep, pollsAtMost, client } = args
  const server = { url: args.url ?? DEFAULT_URL, controlToken: args.controlToken }
  const query = new URLSearchParams({
    ...(off !== undefined && { off: off.join(',') }),
    ...(keep !== undefined && { keep: keep.join(',') }),
    ...(pollsAtMost !== undefined && { pollsAtMost }),
    ...(client !== undefined && { client }),
  })
  const judgement = await ask<Judgement>(server, `judge?${query}`, 'findings')
  if (own === undefined) return judgement
  const filter = new URLSearchParams({
    ...{ limit: String(LIMITS.requests), bodies: 'whole' },
    ...(client !== undefined && { token: client }),
  })
  const { requests } = await ask<{ requests: ReceivedRequest[] }>(server, `requests?${filter}`, 'requests')
  const { now, elapsed_seconds } = await ask<{ now: string; elapsed_seconds: number }>(
    server,
    'clock',
    'elapsed_seconds',
  )
  const epochMs = Math.round(Date.parse(now) - elapsed_seconds * 1000)
  const rate = pollsAtMost === undefined ? undefined : Number(pollsAtMost)
  const findings = applyOwnRules(own, conductOfServer(requests, epochMs, rate))
  return {
    ...judgement,
    findings: [...judgement.findings, ...findings],
    rules: [...judgement.rules, ...own.keys()],
  }
}

function applyOwnRules(own: ReadonlyMap<string, ConductRule>, conduct: Conduct): JudgeFinding[] {
  try {
    return applyRules(own, conduct)
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message) : error
  }
}

/** Asks the control plane for an object with a field. */
function ask<Body>(server: ServerArguments, path: string, field: keyof Body & string): Promise<Body> {
  return askServer(server, path, 'a judgement', field)
}
