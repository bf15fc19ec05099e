import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { controlOperations } from '../../src/server/control/index.ts'
import { serve } from '../../src/server/http/server.ts'
import type { FaultRule } from '../../src/simulator/faults/rules.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { ScenarioLibrary } from '../../src/workbench/scenario/runner/library.ts'
import { recordMinute } from '../simulator/recorded-minute.ts'

test('every line of docs/control.md works on the default world as printed', async () => {
  const page = readFileSync('docs/control.md', 'utf8')
  // The lines about a rule of a fault are for one that another line adds.
  const faults: FaultRule[] = [{ on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } }]
  const answers = [{ name: 'script-1', answer: { text: 'Yes.' } }]
  // GET /_sim/unread lists unread fields only with strict requests.
  const sim = createSimulator({ seed: 1, faults, answers, strictRequests: true })
  // The parts of a page need a build of the package.
  const writePage = async () => '<!doctype html>'
  const server = await serve(sim, { port: 0, scenarios: new ScenarioLibrary(['scenarios']), writePage })
  onTestFinished(() => server.close())
  const lines = [...page.matchAll(/^curl .*$/gm)].map(([line]) => line)
  expect(lines).toHaveLength(Object.keys(controlOperations).length)
  for (const line of lines) {
    const { address, method, body, upload } =
      /^curl(?: -X (?<method>\w+))?(?: --json '(?<body>.*)')?(?: -F (?<upload>\S+))? '?(?<address>[^']*)'?$/.exec(line)!
        .groups!
    sim.reset()
    // The first entry of the journal is the fault rule, and the second one this request.
    if (line.includes('/_sim/requests/')) await sim.fetch('http://sim/deploy/list')
    // The lines about a snapshot are for the one that a line takes.
    const { snapshots } = server.worlds.default
    if (line.includes('/_sim/snapshots/')) snapshots.set('before-the-storm', sim.snapshot())
    else snapshots.clear()
    // The lines about a past are for one in which something happened. A replay needs a world that is not recorded.
    const isOfPast = /_sim\/(past\/|page)/.test(line)
    await fetch(`${server.url}/_sim/past`, { method: isOfPast ? 'POST' : 'DELETE' })
    if (isOfPast) sim.cluster.node('h100-0').crash()
    // A recording has a checksum in every line, which an example cannot show.
    const sent = line.includes('/_sim/recordings') ? JSON.stringify({ recording: recordMinute() }) : body
    const form = new FormData()
    if (upload !== undefined) form.set('file', new Blob([new Uint8Array(sim.snapshot().toBytes())]), 'before.snapshot')
    const { status } = await fetch(address!.replace('127.0.0.1:4010', server.url), {
      method: method ?? (body === undefined && upload === undefined ? 'GET' : 'POST'),
      ...(sent !== undefined && { body: sent, headers: { 'content-type': 'application/json' } }),
      ...(upload !== undefined && { body: form }),
    })
    expect([line, status]).toEqual([line, 200])
  }
})

test('docs/profile.md has a source for every setting', () => {
  expect(readFileSync('docs/profile.md', 'utf8')).not.toContain('without a source')
})
