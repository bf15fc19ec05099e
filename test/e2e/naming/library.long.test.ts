/** The shipped scenarios, played by a client that speaks the words of its provider, and looked at on the wire. */
import { readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { runScenario } from '../../../src/workbench/scenario/index.ts'
import { ScenarioEnvironment } from '../../../src/workbench/scenario/play/environment.ts'
import { findScenarioFiles, loadScenarios } from '../../../src/workbench/scenario/runner/files.ts'
import { tracePath } from '../../../src/workbench/scenario/runner/runner.ts'
import { TraceFile } from '../../../src/workbench/scenario/runner/trace.ts'
import {
  namedBody,
  namedHeaders,
  namedTarget,
  neutralNames,
  neutralText,
  PROFILE,
} from '../../service/naming/renamed-words.ts'

const files = findScenarioFiles(['scenarios/**/*']).map(file => relative('.', file))
const answers: string[] = []
const asked: Request[] = []
let said = ''

/** Between a script and its world: what the script asks is written in the user's words, and what comes back is read. */
function listen() {
  const { send } = ScenarioEnvironment.prototype
  vi.spyOn(ScenarioEnvironment.prototype, 'send').mockImplementation(async function (
    this: ScenarioEnvironment,
    request,
    pass,
  ) {
    // Its signal follows that of the script no longer than it is there.
    asked.push(request)
    const { pathname, search } = new URL(request.url)
    const sentHeaders = namedHeaders(request.headers)
    sentHeaders.delete('x-sim-names')
    const isJson = sentHeaders.get('content-type') === 'application/json'
    const body = isJson ? namedBody(await request.text()) : request.body
    const answer = await send.call(
      this,
      new Request(`http://sim${namedTarget(pathname)}${search}`, {
        ...{ method: request.method, headers: sentHeaders, signal: request.signal },
        ...(body !== null && { body, duplex: 'half' }),
      } as RequestInit),
      pass,
    )
    const { status, headers, body: stream } = answer
    if (headers.get('content-type')?.startsWith('text/event-stream')) {
      const heard = new TransformStream<string, string>({
        transform(piece, controller) {
          answers.push(piece)
          controller.enqueue(neutralText(piece))
        },
      })
      const words = stream!.pipeThrough(new TextDecoderStream()).pipeThrough(heard)
      return new Response(words.pipeThrough(new TextEncoderStream()), { status, headers })
    }
    if (headers.get('content-type')?.startsWith('audio/')) {
      answers.push('audio')
      return answer
    }
    const text = await answer.text()
    answers.push(text)
    return new Response(neutralText(text), { status, headers })
  })
}

afterEach(() => void vi.restoreAllMocks())

test.each(files)('%s has the same trace under other names, and no answer has a neutral name', async file => {
  listen()
  answers.length = 0
  asked.length = 0
  const trace = new TraceFile(readFileSync(tracePath(resolve(file)), 'utf8'))
  for (const { options, ...scenario } of await loadScenarios(resolve(file))) {
    const result = await runScenario({ ...scenario, options: { ...options, names: PROFILE } })
    expect(result.failure).toBeUndefined()
    expect(trace.findDifference(scenario.title, result.trace)).toBeUndefined()
  }
  expect(answers.length).toBeGreaterThan(0)
  said += answers.join('\n')
  expect(answers.filter(text => neutralNames(text).length > 0)).toEqual([])
})

test('the answers of the scenarios have renamed fields', () => {
  expect(said).toContain('"qqOwed"')
})
