/** What is broken now, what can be broken, and what clients get wrong answers from: each with its undo. */

import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { tryParseJson } from '../../../lib/json-text.ts'
import { Button, CopyButton, Small, saveFile } from '../parts/buttons.tsx'
import { bound, CommandForm, Select, TextField } from '../parts/fields.tsx'
import { formatCount, formatDuration, formatTime, plural, secondsBetween } from '../parts/format.ts'
import { set } from '../parts/hooks.ts'
import { Panel, Problem } from '../parts/panel.tsx'
import { Glyph, JsonView } from '../parts/words.tsx'
import { goBack } from '../shell/timeline.tsx'
import type { AnswersByRoute, FieldsByRoute } from '../store/ask.ts'
import { DEFAULT_WORLD, describeError, type ScenarioRun, type Session, useSession } from '../store/session.ts'
import { useAnswer } from '../store/use-answer.ts'

export function FaultsView() {
  return (
    <div class="columns">
      <div class="stack">
        <ActiveFailures />
        <GiveCommand />
        <Timelines />
      </div>
      <div class="stack">
        <FaultRules />
        <Recorded />
      </div>
    </div>
  )
}

/** What is broken now. Each failure that a command can undo has a button for it. */
function ActiveFailures() {
  const session = useSession()
  const { value: failures, error } = useAnswer('GET /_sim/troubles', {}, { refresh: 'requests' })
  return (
    <Panel title="Broken now" route="GET /_sim/troubles" error={error}>
      {failures?.length === 0 && <p class="empty">Nothing is broken.</p>}
      <ul class="plain">
        {failures?.map(({ what, undo }) => (
          <li key={what} class="line">
            <span>
              <Glyph of="✗" tone="bad" /> {what}
            </span>
            {undo !== undefined && (
              <Small words="Undo" of={what} onClick={() => session.act(`Undo: ${what}`, 'POST /_sim/commands', undo)} />
            )}
          </li>
        ))}
      </ul>
      {failures !== undefined && failures.length > 1 && (
        <Button words="Undo all" onClick={() => session.act('Undo all failures', 'POST /_sim/heal')} />
      )}
    </Panel>
  )
}

/** Breaks or repairs something by a command: now, or after a duration. */
function GiveCommand() {
  const { value: commands, error } = useAnswer('GET /_sim/commands', {}, { refresh: 'once' })
  const verb = useSignal('node.crash')
  const target = useSignal('')
  const command = commands?.find(each => each.verb === verb.value)
  const targets = useTargets(command?.target)
  const needsTarget = command !== undefined && command.target !== 'none'
  return (
    <Panel title="Break or repair" route="GET /_sim/commands" name="Commands" error={error}>
      {command !== undefined && (
        <CommandForm look="form" command={command} target={needsTarget ? target.value : undefined}>
          <Select
            label="Command"
            value={verb.value}
            options={(commands ?? []).map(({ verb: name }) => name)}
            onChange={chosen => {
              verb.value = chosen
              target.value = ''
            }}
          />
          {needsTarget && (
            <>
              <TextField label={`Target (${command.target})`} class="mono" list="targets" required value={target} />
              <datalist id="targets">
                {targets.map(name => (
                  <option key={name} value={name} />
                ))}
              </datalist>
            </>
          )}
        </CommandForm>
      )}
      {command !== undefined && (
        <p class="faint">
          {command.verb}: {command.says}.{command.undo !== null && ` ${command.undo} undoes it.`}
        </p>
      )}
    </Panel>
  )
}

type Node = AnswersByRoute['GET /_sim/cluster/nodes'][number]

/** The targets that a node gives to a command, by the kind of target. */
const OF_NODE: Readonly<Record<string, (node: Node) => string | string[]>> = {
  node: ({ name }) => name,
  gpu: ({ name, gpus }) => Array.from({ length: gpus }, (_, i) => `${name}/${i}`),
  pool: ({ pool }) => pool,
  zone: ({ zone }) => zone,
  gpuType: ({ gpu }) => gpu,
}
/** The most targets that are suggested. */
const MAX_TARGETS = 2_000

/** Returns the names that a command could be given to. The simulator checks the one that is sent. */
function useTargets(kind = ''): readonly string[] {
  const { feed } = useSession()
  const ofNode = OF_NODE[kind]
  const { value: nodes = [] } = useAnswer('GET /_sim/cluster/nodes', ofNode && {}, { refresh: 'once' })
  const revision = feed.revision.value
  return useMemo(() => {
    const subjects = feed.entries.filter(entry => entry.kind.startsWith(`${kind}.`)).map(({ subject }) => subject)
    return [...new Set(ofNode === undefined ? subjects : nodes.flatMap(ofNode))].slice(0, MAX_TARGETS)
  }, [kind, nodes, revision])
}

type Rule = FieldsByRoute['POST /_sim/faults']

/** The fault rules of the world with their hits left, and a form that adds one. */
function FaultRules() {
  const session = useSession()
  const { value: rules, error } = useAnswer('GET /_sim/faults', {}, { refresh: 'requests' })
  const text = useSignal(toText(Object.values(PRESETS)[0]!))
  const problem = useSignal<string | undefined>(undefined)
  const add = async (event: Event) => {
    event.preventDefault()
    const rule = tryParseJson(text.value)
    if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) {
      problem.value = 'Failed to read the rule: it is not a JSON object. Begin with {"on": "create*", "fault": {…}}.'
      return
    }
    problem.value = undefined
    await session.act('Add a fault rule', 'POST /_sim/faults', rule as Rule)
  }
  return (
    <Panel title="Fault rules" route="GET /_sim/faults" error={error}>
      {rules?.length === 0 && <p class="empty">No fault rule changes the answers.</p>}
      <ul class="plain">
        {rules?.map(({ id, rule, matches, hits }) => (
          <li key={id} class="rule">
            <div class="line">
              <strong>{id}</strong>
              <span class="faint">
                {plural(hits, 'hit')}
                {hitsLeft(rule, hits)}, {matches === 1 ? '1 match' : `${formatCount(matches)} matches`}
              </span>
              <Small
                words="Remove"
                of={id}
                onClick={() => session.act(`Remove ${id}`, 'DELETE /_sim/faults/{id}', { id })}
              />
            </div>
            <code class="break">{JSON.stringify(rule)}</code>
          </li>
        ))}
      </ul>
      <form class="fields" onSubmit={add}>
        <Select
          label="Template"
          options={Object.keys(PRESETS)}
          onChange={chosen => set(text, toText(PRESETS[chosen]!))}
        />
        <label class="whole">
          Rule in JSON
          <textarea class="mono" rows={8} {...bound(text)} />
        </label>
        <Problem text={problem.value} />
        <Button words="Add the rule" type="submit" class="primary" />
      </form>
    </Panel>
  )
}

function toText(rule: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(rule, undefined, 2)
}

/** A rule with `times` ends after so many hits. */
function hitsLeft({ times }: Readonly<Record<string, unknown>>, hits: number): string {
  return typeof times === 'number' ? `, ${Math.max(0, times - hits)} left` : ''
}

/** Rules to begin with: what clients meet most often. Each can be changed before it is added. */
const PRESETS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'The answer to the next create is lost, but it was done': {
    ...{ on: 'create*', times: 1, fault: { kind: 'reset', effect: 'done' } },
  },
  'The next three requests are answered 503': { on: '*', times: 3, fault: { kind: 'status', status: 503 } },
  'Too many requests for a minute: 429 with Retry-After': {
    ...{ on: '*', until: '1m', fault: { kind: 'rateLimit', retryAfter: '20s' } },
  },
  'Lists are slow': { on: 'list*', fault: { kind: 'latency', delay: '5s' } },
  'One request in ten breaks': { on: '*', chance: 0.1, fault: { kind: 'reset' } },
  'The third line of a batch fails': {
    ...{ on: 'createChatCompletion', in: 'batch', nth: 3, fault: { kind: 'status', status: 500 } },
  },
  'An outage of a minute from the next request on': {
    ...{ on: '*', nth: 1, for: '60s', fault: { kind: 'status', status: 503 } },
  },
}

/** The catalogue of incidents: scenarios whose commands and faults the simulator plays beside the clients. */
function Timelines() {
  const session = useSession()
  const { value: scenarios, error } = useAnswer('GET /_sim/scenarios', {}, { refresh: 'requests' })
  const now = session.clock.value?.now
  const start = (name: string) => session.act(`Start ${name}`, 'POST /_sim/scenarios/{name}/start', { name })
  const stop = (name: string) => session.act(`Stop ${name}`, 'DELETE /_sim/scenarios/{name}', { name })
  return (
    <Panel title="Incidents" route="GET /_sim/scenarios" error={error}>
      {scenarios === undefined && error === undefined && <p class="empty">Reading the incidents …</p>}
      {scenarios?.length === 0 && (
        <p class="empty">
          {session.connection.home === 'server'
            ? 'This simulator has no scenarios to play.'
            : 'A page without a server plays no scenarios. Use modelhost-sim serve.'}
        </p>
      )}
      <ul class="plain">
        {scenarios?.map(({ name, title, state, done, of, next_at: next, problems }) => (
          <li key={name} class="rule">
            <div class="line">
              <span>{title ?? name}</span>
              <span class="faint">
                {state === 'playing'
                  ? `▶ ${of === null ? plural(done, 'step') : `${done} of ${plural(of, 'step')}`}${
                      next !== null && now !== undefined ? `, next in ${formatDuration(secondsBetween(now, next))}` : ''
                    }`
                  : state === 'unplayable'
                    ? 'Run only'
                    : state}
              </span>
              {state === 'playing' ? (
                <Small words="Stop" of={name} onClick={() => stop(name)} />
              ) : (
                <Small words="Start" of={name} disabled={state === 'unplayable'} onClick={() => start(name)} />
              )}
              <Small words="Run" of={name} onClick={() => runScenario(session, name)} />
            </div>
            <RunResult run={session.runs.value[name]} />
            {problems.length > 0 && (
              <details class="faint">
                <summary>What is not played</summary>
                <ul>
                  {problems.map(problem => (
                    <li key={problem}>{problem}</li>
                  ))}
                </ul>
              </details>
            )}
          </li>
        ))}
      </ul>
      <p class="faint">
        Start plays commands and fault rules in this world. Run plays the whole scenario in a world of its own, and
        checks it. For scenarios in TypeScript, use <code>modelhost-sim run</code>.
      </p>
    </Panel>
  )
}

/** Runs a scenario whole and keeps the result. With `open`, returns the name of a world that has the run as its past. */
async function runScenario(session: Session, name: string, open?: true): Promise<string | undefined> {
  const fields = { name, ...(open && { open }) }
  const run = await session.act(`Run ${name}`, 'POST /_sim/scenarios/{name}/run', fields, DEFAULT_WORLD)
  if (run !== undefined) session.runs.value = { ...session.runs.peek(), [name]: run }
  return run?.world ?? undefined
}

/** Whether a run passed, what it did step by step, and the ways into its world. */
function RunResult({ run }: { run: ScenarioRun | undefined }) {
  const session = useSession()
  if (run === undefined) return null
  const { name, passed, failure, line, checks, seed, seconds, wall_ms: wall, digest, steps } = run
  /** Shows the end of the run, or its world then. The world of a run is opened once. */
  const visit = async (at?: string) => {
    const worlds = await session.ask('GET /_sim/worlds', {}, { world: DEFAULT_WORLD })
    const world = worlds.some(each => each.world === run.world) ? run.world : await runScenario(session, name, true)
    if (world == null) return
    if (at === undefined) session.place.go({ world, origin: undefined })
    else await goBack(session, world, at)
  }
  return (
    <>
      <p role="status" class={passed ? 'ok' : 'bad'}>
        {passed ? '✓ Passed' : `✗ Failed${line === null ? '' : ` at line ${line}`}: ${failure}`}
      </p>
      <p class="faint">
        {plural(checks, 'check')} · {formatDuration(seconds)} virtual, {formatDuration(wall / 1000)} real · seed {seed}{' '}
        · digest {digest}
      </p>
      <details>
        <summary>{plural(steps.length, 'step')}</summary>
        <ol class="chain">
          {steps.map(({ at, text }, index) => (
            <li key={index}>
              <time dateTime={at}>{formatTime(at)}</time>{' '}
              <Button words={text} class="linklike break" title="Show its world then" onClick={() => visit(at)} />
            </li>
          ))}
        </ol>
      </details>
      <Small words="Open its world" onClick={() => visit()} />
    </>
  )
}

/** What the person did here, and the scenario that does it again. */
function Recorded() {
  const session = useSession()
  const scenario = useSignal<{ readonly name: string; readonly text: string } | undefined>(undefined)
  const problem = useSignal<string | undefined>(undefined)
  const onlyActions = useSignal(true)
  const world = session.world.value
  const actions = session.actions.value.filter(action => action.world === world)
  const record = async () => {
    const only = onlyActions.value ? 'actions' : undefined
    // A world that began with a snapshot, as a fork does, can be written in TypeScript alone.
    for (const format of ['yaml', 'typescript'] as const) {
      const name = format === 'yaml' ? 'scenario.yaml' : 'scenario.ts'
      try {
        scenario.value = { name, text: await session.ask('GET /_sim/past/scenario', { format, only }) }
        problem.value = undefined
        return
      } catch (error) {
        problem.value = describeError(error)
      }
    }
  }
  return (
    <Panel title="What you did">
      {actions.length === 0 && <p class="empty">What you do on this page is listed here.</p>}
      <ol class="plain did">
        {actions.map(({ label, at, request }) => (
          <li key={`${at} ${label} ${request.body}`} class="line">
            <span>
              <time dateTime={at}>{formatTime(at)}</time> {label}
            </span>
            <CopyButton label="Copy as curl" text={() => session.curlOf(request)} />
          </li>
        ))}
      </ol>
      <div class="toolbar create">
        <Button words="Record as scenario" class="primary" onClick={record} />
        <label>
          <input
            type="checkbox"
            checked={onlyActions.value}
            onChange={event => set(onlyActions, event.currentTarget.checked)}
          />{' '}
          without the requests of clients
        </label>
      </div>
      <Problem text={problem.value} />
      {scenario.value !== undefined && <Scenario {...scenario.value} />}
    </Panel>
  )
}

function Scenario({ name, text }: { name: string; text: string }) {
  return (
    <>
      <JsonView value={text} label={`Scenario in ${name.endsWith('.ts') ? 'TypeScript' : 'YAML'}`} />
      <div class="toolbar create">
        <CopyButton label="Copy" text={() => text} />
        <Small words={`Save as ${name}`} onClick={() => saveFile(name, text)} />
        <span class="faint">
          The first time, run it with <code>modelhost-sim run {name} --update</code>, which writes its trace. Without
          --update, it then fails if the world does something else.
        </span>
      </div>
    </>
  )
}
