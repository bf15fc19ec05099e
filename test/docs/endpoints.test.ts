import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { handler } from '../../src/cli/commands/endpoints.ts'
import { handler as profile } from '../../src/cli/commands/profile.ts'
import { controlOperations } from '../../src/control/index.ts'
import type { FaultRule } from '../../src/faults/rules.ts'
import { ScenarioLibrary } from '../../src/scenario/runner/library.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { serve } from '../../src/transports/http/server.ts'

function printed(args: { control: boolean }): string {
  const written: string[] = []
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation(text => {
    written.push(String(text))
    return true
  })
  try {
    handler({ json: false, markdown: true, ...args })
  } finally {
    spy.mockRestore()
  }
  return written.join('')
}

test('docs/endpoints.md is what the declarations say', () => {
  const page = readFileSync('docs/endpoints.md', 'utf8')
  expect(page.slice(page.indexOf('| Endpoint')), 'write it again: modelhost-sim endpoints --markdown').toBe(
    printed({ control: false }),
  )
})

test('docs/control.md is what the declarations say', () => {
  const page = readFileSync('docs/control.md', 'utf8')
  expect(page.slice(page.indexOf('\n## ') + 1), 'write it again: modelhost-sim endpoints --control --markdown').toBe(
    printed({ control: true }),
  )
})

test('every line of docs/control.md works on the default world as printed', async () => {
  const page = readFileSync('docs/control.md', 'utf8')
  // The lines about a rule of a fault are for one that another line adds.
  const faults: FaultRule[] = [{ on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } }]
  const answers = [{ name: 'script-1', answer: { text: 'Yes.' } }]
  // GET /_sim/unread lists unread fields only with strict requests.
  const sim = createSimulator({ seed: 1, faults, answers, strictRequests: true })
  const server = await serve(sim, { port: 0, scenarios: new ScenarioLibrary(['scenarios']) })
  onTestFinished(() => server.close())
  const lines = [...page.matchAll(/^curl .*$/gm)].map(([line]) => line)
  expect(lines).toHaveLength(Object.keys(controlOperations).length)
  for (const line of lines) {
    const { address, method, body, upload } =
      /^curl(?: -X (?<method>\w+))?(?: --json '(?<body>.*)')?(?: -F (?<upload>\S+))? '?(?<address>[^']*)'?$/.exec(line)!
        .groups!
    sim.reset()
    // The lines about a snapshot are for the one that a line takes.
    const { snapshots } = server.worlds.default
    if (line.includes('/_sim/snapshots/')) snapshots.set('before-the-storm', sim.snapshot())
    else snapshots.clear()
    const form = new FormData()
    if (upload !== undefined) form.set('file', new Blob([new Uint8Array(sim.snapshot().toBytes())]), 'before.snapshot')
    const { status } = await fetch(address!.replace('127.0.0.1:4010', server.url), {
      method: method ?? (body === undefined && upload === undefined ? 'GET' : 'POST'),
      ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
      ...(upload !== undefined && { body: form }),
    })
    expect([line, status]).toEqual([line, 200])
  }
})

test('docs/profile.md is what the default profile says', () => {
  const written: string[] = []
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation(text => {
    written.push(String(text))
    return true
  })
  try {
    profile({ name: 'realistic', markdown: true })
  } finally {
    spy.mockRestore()
  }
  const page = readFileSync('docs/profile.md', 'utf8')
  expect(page.slice(page.indexOf('## timings')), 'write it again: modelhost-sim profile --markdown').toBe(
    written.join(''),
  )
  // Every figure has a source.
  expect(page).not.toContain('without a source')
})
